"""Whether the answers are still as good: log-probabilities, outputs, graded questions."""

from assay.quality.gate import (
    Answers,
    AskedFor,
    ask_answers,
    fixed_prompts,
    judge_answers,
    read_answers,
    write_answers,
)
from assay.quality.graders import GRADERS, Grader, graded
from assay.quality.judge import Beside, Gate, Judgement, judge
from assay.quality.logprobs import LogprobDistance, distance
from assay.quality.outputs import Fault, Output, check_outputs
from assay.quality.paired import Paired, paired
from assay.quality.questions import Question, read_questions
from assay.quality.sampled import Sampled, sampled_faults

__all__ = [
    "GRADERS",
    "Answers",
    "AskedFor",
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
    "ask_answers",
    "check_outputs",
    "distance",
    "fixed_prompts",
    "graded",
    "judge",
    "judge_answers",
    "paired",
    "read_answers",
    "read_questions",
    "sampled_faults",
    "write_answers",
]
