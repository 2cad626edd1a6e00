"""Rhythms: rates, fibrillation, flutter, ventricular tachycardia, and signals at rest."""
