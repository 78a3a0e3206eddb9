"""structron beside other toolkits: speed, memory, size and scores on the same data. See README.md."""
