"""Makes an engine's source available as a folder: releases, wheels, folders, environments, images."""
