"""Hypothesis runs without a deadline: a busy machine must not make a property fail."""

from hypothesis import settings

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
