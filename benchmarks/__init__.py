"""Each figure the README quotes, as a ratio to something real: `python -m benchmarks [NAME…]`. Not tests."""
