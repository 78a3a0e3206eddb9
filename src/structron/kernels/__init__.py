"""Compiled helpers that everything shares: how kernels are compiled and cached, hashing, the hash table."""
