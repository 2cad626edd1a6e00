"""Training and measuring of the models that ship with the package."""
