"""Run the command line: ``beatwire``, or ``python -m beatwire``."""

from __future__ import annotations

import sys


def run() -> None:
    """Run the command of the arguments; Ctrl-C while modules are imported ends without a traceback."""
    try:
        from beatwire.cli.main import main
    except KeyboardInterrupt:  # there is no command yet that could end in its own way
        sys.exit(130)
    main()


if __name__ == "__main__":
    run()
