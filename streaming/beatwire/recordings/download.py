"""How to get a database of PhysioNet that is not there: what errors about its path add."""

import json
import re
import shlex
from pathlib import Path

_DATABASE = re.compile(r"[a-z]{1,10}db\d?")  # mitdb, svdb, qtdb, nsrdb, incartdb, ...


def download_hint(folder: Path) -> str:
    """Return the command that downloads a folder called as a database of PhysioNet; nothing for another one.

    A folder that holds records was downloaded before.

    >>> print(download_hint(Path("ecg/mitdb")))
    ; to download it: python -c 'import wfdb; wfdb.dl_database("mitdb", "ecg/mitdb")'
    >>> download_hint(Path("mine"))
    ''
    """
    name = folder.name
    if _DATABASE.fullmatch(name) is None or any(folder.glob("*.hea")):
        return ""
    program = f"import wfdb; wfdb.dl_database({json.dumps(name)}, {json.dumps(str(folder), ensure_ascii=False)})"
    return f"; to download it: python -c {shlex.quote(program)}"
