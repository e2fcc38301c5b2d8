"""navci: an unattended "run until done" coding loop inside a CI job."""

__version__ = "0.1.0"
