"""Recordings that cannot be read: what is said of them."""

from __future__ import annotations

from typing import Any

import pytest
from beatwire.errors import UserError
from beatwire.recordings import read_recording


def message_of(source: object, **kwargs: Any) -> str:
    """The one line in which a recording is refused."""
    with pytest.raises(UserError) as error:
        read_recording(str(source), **kwargs)
    assert "\n" not in str(error.value)
    return str(error.value)
