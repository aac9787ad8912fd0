"""Whether the answers are still as good: log-probabilities, outputs, graded questions; pure."""

from assay.quality.graders import GRADERS, Grader, graded
from assay.quality.judge import Beside, Gate, Judgement, judge
from assay.quality.logprobs import LogprobDistance, distance
from assay.quality.outputs import Fault, Output, check_outputs
from assay.quality.paired import Paired, paired
from assay.quality.questions import Question, read_questions
from assay.quality.sampled import Sampled, sampled_faults

__all__ = [
    "GRADERS",
    "Beside",
    "Fault",
    "Gate",
    "Grader",
    "Judgement",
    "LogprobDistance",
    "Output",
    "Paired",
    "Question",
    "Sampled",
    "check_outputs",
    "distance",
    "graded",
    "judge",
    "paired",
    "read_questions",
    "sampled_faults",
]
