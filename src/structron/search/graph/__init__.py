"""From a sentence to its best tree: features, scores and pruning of arcs."""
