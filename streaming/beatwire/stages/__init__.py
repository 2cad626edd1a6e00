"""The stages of the graph, one file each.

A file has four parts, in this order and with these names:

``Settings``
    Frozen dataclass: what can be configured, durations in seconds. A stage without configuration has none.
``State``
    Dataclass with slots: ``settings`` first where there are any, then ``backend`` where the stage has one, then what is
    kept from tick to tick; the docstring gives dtype, shape and unit of each field. The graph makes one for each stage,
    and a new one when it is reset.
``step(state, record) -> (state, record)``
    Takes one record and returns the next one. It validates before its first write to the state. It does not write to
    its input, nor later to what it has emitted; rings are the exception (``Ringed.x``, ``Rings``): each pass writes
    them, and what a pass needs of them is read in the pass.
helpers
    Private functions below ``step``, or public ones where tests or training use them.

A stage imports records, kernels and the backend; no other stage, no Kafka, no clock, no logging. ``support`` has what
several stages share.
"""
