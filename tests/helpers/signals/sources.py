"""The error messages of recordings that cannot be read."""

from typing import Any

import pytest
from beatwire.errors import UserError
from beatwire.recordings import read_recording


def message_of(source: object, **kwargs: Any) -> str:
    """Return the one-line error of a recording that cannot be read."""
    with pytest.raises(UserError) as error:
        read_recording(str(source), **kwargs)
    assert "\n" not in str(error.value)
    return str(error.value)
