"""Plain text and the words in it, below any model: pieces of text, edit scripts."""
