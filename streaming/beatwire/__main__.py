"""Run the command line as ``python -m beatwire``."""

from beatwire.cli.main import main

main()
