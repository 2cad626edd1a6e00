"""The live page: a web server that reads the topics, and the page that it serves.

================ ================================================================================
module           contains
================ ================================================================================
``dashboard``    the server in a thread: start, address, stop
``reader``       the thread that reads the topics, and the producer of acknowledgements
``ward``         all streams behind one lock: parts of the ward, new samples and beats
``traces``       the last ten seconds of samples of every stream
``beat_log``     the beats of the last ten minutes
``hum``          which leads hum
``natural``      the order of stream ids
``alerts``       alerts in force, and acknowledgements
``lost_alerts``  alerts that their topic has lost
``protocol``     the binary messages (docs/reference/page-protocol.md)
``browser``      one browser: what it looks at, and how far it has received
``app``          routes of the web application
``guard``        Host, Origin, token, and headers of every answer
``rules``        the alert rules in plain words
``population``   the plane of the model's latents
``static``       the page itself: HTML, style and modules, without a build step
================ ================================================================================
"""
