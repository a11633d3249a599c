"""What a page shows as printed, beside what is printed."""

import re

WITHIN = 2.0
"""[%] by which numbers may differ."""
NUMBER = re.compile(r"(?<![\w/.#-])[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w/]|\.\d)")


def alike(wanted, got, within):
    """Whether a printed line is that of the page."""
    open_end = wanted.rstrip().endswith("…")
    want, have = ([*NUMBER.findall(line)] for line in (wanted, got))
    words, found = (" ".join(NUMBER.sub("#", line).split()) for line in (wanted, got))
    if open_end:
        words = words.rstrip("… ")
        found, have = found[: len(words)], have[: len(want)]
    return words == found and len(want) == len(have) and all(map(close(within), want, have))


def close(within):
    """Whether two numbers agree within so many % or the last digit that the page gives."""

    def compare(wanted, got):
        digits = len(wanted.partition("e")[0].partition(".")[2])
        last = 10.0**-digits * 10.0 ** int(wanted.partition("e")[2] or 0) if digits else 0.0
        a, b = float(wanted), float(got)
        return abs(a - b) <= within / 100 * abs(a) + last

    return compare


def missing_line(wanted, printed, within):
    """The first line of a page's block that is not printed, in order; None if all are."""
    rest = iter(printed.splitlines())
    for line in wanted.splitlines():
        if line.strip() in ("", "…"):
            continue
        if not any(alike(line, one, within) for one in rest):
            return line
    return None
