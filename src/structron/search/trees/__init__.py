"""Search for the best dependency tree over scored arcs and larger parts."""
