"""What the rest runs on: threads, processes and machines of a cluster, standard streams and signals, progress."""
