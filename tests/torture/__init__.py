"""What must never lose a file, crash or hang, tried until it would have: `make torture` in full, `make test` a sample.

Each part is a module with FULL, how many trials `make torture` asks for, and `run(trials, seed, folder) -> Found`.
"""
