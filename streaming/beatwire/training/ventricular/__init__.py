"""Training of the judges of ventricular tachycardia and runs."""
