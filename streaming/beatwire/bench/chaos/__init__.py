"""``beatwire chaos``: disturb monitors on a real Kafka, and compare what they publish with an undisturbed run.

=================== ================================================================================
module              contains
=================== ================================================================================
``plan``            the kinds of disturbances, and which of them follow one another
``workers``         the monitors that are disturbed, each a process
``disturb``         one disturbance of the workers, of the broker, of the feed or of the machine
``feed``            recordings as live streams, again and again until the disturbances are over
``watch``           probes and memory of the workers and of a page beside them
``undisturbed``     the same messages through one graph that nobody disturbs
``compare``         lost, twice, different: beats, transitions of alerts, dead letters
``run``             all of it, in order
=================== ================================================================================
"""
