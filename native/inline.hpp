// Functions whose arguments are vectors in registers: a call would pass them through memory.
#pragma once

#define DIFFSIM_INLINE [[gnu::always_inline]] inline
