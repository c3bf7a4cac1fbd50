"""The discovery lab: what a model would be shown, at what cost, and which tool it would find. Pure, any thread."""
