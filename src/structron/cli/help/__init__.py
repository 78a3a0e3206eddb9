"""Help texts, and what they need to know of the tasks without importing them."""
