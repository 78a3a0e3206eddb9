"""From plain text to trees: the parts of a pipeline, how they are trained, and how they work together."""
