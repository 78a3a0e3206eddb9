"""What commands show beside their results: what is compiled, how learning went, which mistakes are left."""
