"""The browser console: the only room that imports Flask."""
