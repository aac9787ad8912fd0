"""The engine's own command-line rules, with places and all problems at once."""
