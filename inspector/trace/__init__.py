"""Recording and reading back: the only room that imports sqlite_utils."""
