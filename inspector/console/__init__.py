"""The composition root: opens the rooms in order, closes them in reverse, and is what web and cli talk to."""
