"""One configuration: a TOML file, environment variables and options.

========== ==============================================================================
module     contains
========== ==============================================================================
``keys``   every key: its type, default, unit and meaning
``ranges`` which values they may have: ranges, order, form
``load``   the three sources, merged and checked; where each value came from
``effect`` a configuration -> the cluster, the settings of the graph
``show``   what is in force, with secrets masked
========== ==============================================================================
"""
