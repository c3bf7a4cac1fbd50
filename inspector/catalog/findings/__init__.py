"""Observations about a catalog: one rule each, with why it matters and what to do. Pure; run it in the worker."""
