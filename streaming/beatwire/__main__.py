"""Run the command line as ``python -m streaming``."""

from beatwire.cli.main import main

main()
