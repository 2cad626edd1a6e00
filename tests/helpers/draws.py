"""How many examples Hypothesis draws: all of them in the heavy suite, a sixth in the fast one."""

from hypothesis import settings


def draws(most: int) -> int:
    """Return the number of examples in this run, of ``most`` in the heavy suite; see the profiles in ``conftest``."""
    return max(1, round(most * settings.default.max_examples / 100))
