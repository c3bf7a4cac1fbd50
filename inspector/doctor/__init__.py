"""Connecting step by step and saying what is wrong: the layer, the evidence, the next thing to try."""
