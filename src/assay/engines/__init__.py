"""What differs between engines, as data: names, entry points, idioms, secrets."""

from assay.engines.engine import ENGINES, Engine, Server, engine_named, find_server

__all__ = ["ENGINES", "Engine", "Server", "engine_named", "find_server"]
