"""The place where Numba stores the machine code of a function: the same for every installation of one text.

Numba names what it stores by the path and the time of the source file. The folder of ``jit.cache`` is named by the text
itself: a clone, a wheel and an image that have the same text may use the same machine code.
"""

from pathlib import Path

import numba
from numba.core.caching import UserProvidedCacheLocator

from beatwire.jit.cache import PACKAGE, folder_of_numba

CLASS = f"{__name__}.Locator"  # as ``config.CACHE_LOCATOR_CLASSES`` has it


class Locator(UserProvidedCacheLocator):  # type: ignore[misc]  # Numba has no types
    """Stores below ``config.CACHE_DIR``, in a folder for the version of Numba and one for the folder of the text."""

    def get_source_stamp(self) -> str:
        """Return what is the same as long as the text is: that is in the name of the folder."""
        return ""

    @classmethod
    def get_suitable_cache_subpath(cls, py_file: str) -> str:
        """Return the folder for a source file, relative to ``config.CACHE_DIR``."""
        folder = Path(py_file).parent
        inside = folder.relative_to(PACKAGE) if folder.is_relative_to(PACKAGE) else folder
        return f"{folder_of_numba(numba.__version__)}/{'-'.join(inside.parts)}"
