"""The algorithms: per-item loops, each written once as plain Python and compiled by ``jit``.

A *body* takes the number of its work item ``i`` first, then arrays, numbers and NamedTuples of them (``records``). It
allocates nothing and calls only other bodies and ``math``. Called as Python it is the oracle of the compiled kernel.
``table`` lists the bodies that stages call.
"""
