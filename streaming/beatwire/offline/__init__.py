"""Analysis of recordings without a broker; start at ``beatwire.offline.analyze``."""
