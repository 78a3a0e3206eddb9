"""Learning: the training loop, and the learners that it drives, alone or as a committee."""
