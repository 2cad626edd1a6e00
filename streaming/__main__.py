"""Run the command line as ``python -m streaming``."""

from streaming.cli import main

main()
