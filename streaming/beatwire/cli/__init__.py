"""The command line: ``beatwire COMMAND``. Commands parse arguments and print results; the work is in other packages."""
