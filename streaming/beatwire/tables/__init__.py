"""Tables from CSV and JSON, by pandas with pyarrow (CPU) or cuDF (GPU).

A column of numbers is an array of the array library of the backend (NumPy or CuPy); a column with text is a pandas
Series. Names are imported when they are first used.
"""

from typing import TYPE_CHECKING

from beatwire.lazy import lazily

if TYPE_CHECKING:
    from beatwire.tables.arrays import array_module as array_module
    from beatwire.tables.arrays import host_array as host_array
    from beatwire.tables.arrays import library as library
    from beatwire.tables.columns import Column as Column
    from beatwire.tables.columns import arrow as arrow
    from beatwire.tables.columns import frame as frame
    from beatwire.tables.columns import numbers as numbers
    from beatwire.tables.columns import rows_of as rows_of
    from beatwire.tables.columns import rr_statistics as rr_statistics
    from beatwire.tables.lines import Lines as Lines
    from beatwire.tables.lines import read_json_lines as read_json_lines
    from beatwire.tables.parse import cells_at_blanks as cells_at_blanks
    from beatwire.tables.parse import read_table as read_table
    from beatwire.tables.parse import read_table_blocks as read_table_blocks
    from beatwire.tables.textfile import encoding_of as encoding_of
    from beatwire.tables.textfile import is_plain as is_plain
    from beatwire.tables.textfile import open_bytes as open_bytes
    from beatwire.tables.textfile import open_text as open_text
else:
    __getattr__ = lazily(
        __name__,
        arrays="array_module host_array library",
        columns="Column arrow frame numbers rows_of rr_statistics",
        lines="Lines read_json_lines",
        parse="cells_at_blanks read_table read_table_blocks",
        textfile="encoding_of is_plain open_bytes open_text",
    )
