"""Classes: normal, supraventricular or ventricular."""
