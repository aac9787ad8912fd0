"""The most that an option can give: the floor of a step, Amdahl on a profile; pure."""

from assay.bounds.all_reduce import AllReduce, measured_all_reduce
from assay.bounds.bound import Bound, LoadBound, Measured, Situation, bound, step_seconds, steps
from assay.bounds.profile import Profile, amdahl, profile
from assay.bounds.roofline import Load, Machine, Part, Step, decode_step, prefill_step
from assay.bounds.shape import Shape, UnknownShape, shape

__all__ = [
    "AllReduce",
    "Bound",
    "Load",
    "LoadBound",
    "Machine",
    "Measured",
    "Part",
    "Profile",
    "Shape",
    "Situation",
    "Step",
    "UnknownShape",
    "amdahl",
    "bound",
    "decode_step",
    "measured_all_reduce",
    "prefill_step",
    "profile",
    "shape",
    "step_seconds",
    "steps",
]
