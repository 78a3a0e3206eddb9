"""Word clusters: classes by exchange, a binary tree of them by merging, and k-means of vectors."""
