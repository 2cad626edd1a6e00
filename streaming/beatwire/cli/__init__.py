"""The commands: arguments become settings, then something runs."""
