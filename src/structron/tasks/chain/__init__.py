"""One label for each token: taggers, chunkers, and what other tasks build on them."""
