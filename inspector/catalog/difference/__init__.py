"""Two catalogs side by side: what changed, how much it matters, what it costs. Pure; run it in the worker."""
