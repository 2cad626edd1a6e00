"""The functions of ``import beatwire``; the commands call the same ones."""
