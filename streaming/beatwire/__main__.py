"""Run the command line: ``beatwire``, or ``python -m beatwire``."""

import sys

from beatwire.signals import INTERRUPTED, code_if_ended, end_on_signals


def run() -> None:
    """Run the command of the arguments; Ctrl-C or SIGTERM at any time ends it without a traceback."""
    end_on_signals()
    try:
        from beatwire.cli.main import main

        main()
    except KeyboardInterrupt:  # before there is a command that ends in its own way
        sys.exit(INTERRUPTED)
    except Exception:
        if code_if_ended():  # what a library makes of a signal inside a callback
            sys.exit(code_if_ended())
        raise


if __name__ == "__main__":
    run()
