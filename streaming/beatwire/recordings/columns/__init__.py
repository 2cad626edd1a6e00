"""Columns of numbers: which is a clock, which is a lead, and at which rate."""
