"""Where a name occurs in a tree, under which conditions, and what may lead to a function."""
