"""The graph that the graphs of tests inherit has all that the monitor may call: also what only a slow machine calls."""

import inspect

from beatwire.service.interfaces import Graph
from quiet_graph import QuietGraph


def test_the_quiet_graph_has_every_member_of_the_interface_with_its_arguments():
    members = {name: member for name, member in vars(Graph).items() if not name.startswith("_")}
    assert {"emit", "model_name", "report_expired"} <= set(members)
    for name, member in members.items():
        assert hasattr(QuietGraph, name), name
        if inspect.isfunction(member):
            asked, got = inspect.signature(member), inspect.signature(getattr(QuietGraph, name))
            assert list(asked.parameters.values()) == list(got.parameters.values()), name
