"""Labelled issues, and what is asked for about one: who may have a run started, in what order.

``decide`` and ``order`` are pure; ``trigger`` asks GitHub about an event, ``tonight`` for a night.
"""
