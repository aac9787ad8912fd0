"""What differs between engines, as data: names, entry points, images, environment, options by release."""

from assay.engines import probes
from assay.engines.areas import RANKS, area_of, feature
from assay.engines.argument_check import ARGUMENT_CHECKS
from assay.engines.effects import EFFECTS, Effect, Effects, StepFields, effects
from assay.engines.engine import ENGINES, Engine, Server, engine_named, find_server
from assay.engines.history import OptionHistory, option_history
from assay.engines.knobs import Knob, KnobKind, Need, RestartCost, Risk, knobs
from assay.engines.names import meant, nearest, opposite
from assay.engines.pretending import pretends, says_that_it_pretends
from assay.engines.words import (
    is_followed,
    key_of,
    model_of,
    server_of,
    settings_drawn_at_start,
    url_of,
    value_of,
)

__all__ = [
    "ARGUMENT_CHECKS",
    "EFFECTS",
    "ENGINES",
    "RANKS",
    "Effect",
    "Effects",
    "Engine",
    "Knob",
    "KnobKind",
    "Need",
    "OptionHistory",
    "RestartCost",
    "Risk",
    "Server",
    "StepFields",
    "area_of",
    "effects",
    "engine_named",
    "feature",
    "find_server",
    "is_followed",
    "key_of",
    "knobs",
    "meant",
    "model_of",
    "nearest",
    "opposite",
    "option_history",
    "pretends",
    "probes",
    "says_that_it_pretends",
    "server_of",
    "settings_drawn_at_start",
    "url_of",
    "value_of",
]
