"""Times from the start of a recording, and lengths, as people read them."""


def clock(time_s: float, decimals: int = 0) -> str:
    """Return a time in seconds as hours, minutes and seconds.

    A second that has begun does not count; parts of a second are rounded.

    >>> clock(59.9), clock(3723.5), clock(3725.26, 1), clock(59.96, 1)
    ('0:00:59', '1:02:03', '1:02:05.3', '0:01:00.0')
    """
    units = round(time_s * 10**decimals) if decimals else int(time_s)
    seconds, fraction = divmod(units, 10**decimals)
    text = f"{seconds // 3600}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return f"{text}.{fraction:0{decimals}d}" if decimals else text


def length(seconds: float) -> str:
    """Return the length of a recording: one of less than a minute in seconds.

    >>> length(0.5), length(9.9881), length(75.0)
    ('0.5 s', '9.988 s', '0:01:15')
    """
    return f"{round(seconds, 3):g} s" if seconds < 60 else clock(seconds)
