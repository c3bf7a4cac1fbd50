"""The byte layer: the only room, with demo, that knows the wire."""
