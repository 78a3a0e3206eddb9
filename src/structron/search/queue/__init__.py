"""Generic search: any queue over any search problem."""
