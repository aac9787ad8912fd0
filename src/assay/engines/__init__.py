"""What differs between engines, as data: names, entry points, images, environment, options by release."""

from assay.engines import probes
from assay.engines.engine import ENGINES, Engine, Server, engine_named, find_server
from assay.engines.history import OptionHistory, option_history

__all__ = [
    "ENGINES",
    "Engine",
    "OptionHistory",
    "Server",
    "engine_named",
    "find_server",
    "option_history",
    "probes",
]
