"""Per-item loops, each written once as plain Python and compiled elsewhere.

A body takes its work item ``i`` first, then arrays and scalars; it allocates nothing and calls
nothing but other bodies and ``math``. ``cpu`` compiles the bodies with Numba.
"""
