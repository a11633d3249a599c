"""Where Ctrl-C was switched off before the tests began, it is switched on again.

A shell starts background jobs (`./run test &`) with SIGINT ignored, which children inherit; the
tests of Ctrl-C would then wait for something that cannot happen.
"""

import signal

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
