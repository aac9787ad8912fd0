"""Follows a whole program from its entry without carrying it out."""
