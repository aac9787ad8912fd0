"""Takes off commands that only start another one: `env`, `bash -c`, `docker run` and their kin."""
