"""What is left when learning ends, and predicts."""
