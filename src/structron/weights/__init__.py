"""Stores of weights, with the sums for their exact mean: dense rows, sparse rows, one hashed vector."""
