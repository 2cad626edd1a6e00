"""Tables from CSV and JSON: the only package that chooses between pandas with pyarrow (CPU) and cuDF (GPU).

A column of numbers is an array of the array library of the backend (NumPy or CuPy); a column with text is a pandas
Series.
"""

from beatwire.backends.cuda.upload import upload_stretches
from beatwire.tables.columns import Column, array_module, arrow, frame, host_array, library, numbers, rr_statistics
from beatwire.tables.lines import Lines, read_json_lines
from beatwire.tables.parse import cells_at_blanks, read_table, read_table_blocks, reason
from beatwire.tables.textfile import encoding_of, open_bytes, open_text

__all__ = [
    "Column", "Lines", "array_module", "arrow", "cells_at_blanks", "encoding_of", "frame", "host_array", "library",
    "numbers", "open_bytes", "open_text", "read_json_lines", "read_table", "read_table_blocks", "reason",
    "rr_statistics", "upload_stretches",
]  # fmt: skip
