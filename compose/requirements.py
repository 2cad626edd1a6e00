"""Print the requirements of the project with the extras given as arguments, one a line.

In: pyproject.toml in the present folder. The image installs them in a layer of their own, so that a change of the
code does not install them again.
"""

import sys
import tomllib
from pathlib import Path

project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
lines = [
    *project["dependencies"],
    *(line for extra in sys.argv[1:] for line in project["optional-dependencies"][extra]),
]
sys.stdout.write("\n".join(lines) + "\n")
