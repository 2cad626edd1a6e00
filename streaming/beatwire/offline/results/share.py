"""Shares as people read them."""


def percent(share: float, decimals: int = 0) -> str:
    """Return a share in per cent: only all is 100, and only nothing is 0.

    >>> [percent(share) for share in (0.0, 0.001, 0.5, 0.996, 1.0)]
    ['0 %', '<1 %', '50 %', '>99 %', '100 %']
    >>> percent(1 / 3, 1), percent(0.00001, 1), percent(0.99999, 1)
    ('33.3 %', '<0.1 %', '>99.9 %')
    """
    step = 10**-decimals
    shown = f"{100 * share:.{decimals}f}"
    if share in (0.0, 1.0):
        return f"{100 * share:.0f} %"
    if float(shown) == 0.0:
        return f"<{step:g} %"
    return f">{100 - step:.{decimals}f} %" if float(shown) == 100.0 else f"{shown} %"


def rounded(share: float) -> float:
    """Return a share, rounded so that only all is 1 and only nothing is 0."""
    return share if share in (0.0, 1.0) else min(0.9999, max(0.0001, round(share, 4)))
