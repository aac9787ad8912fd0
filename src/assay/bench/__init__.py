"""Drive a workload at a server, record every request, and say how far the numbers can be trusted."""

from assay._secret import Secret
from assay.bench.answers import Answer, answer, answers, prompt_logprobs, replies
from assay.bench.client_report import ClientReport
from assay.bench.compare import (
    COMPARE_SCHEMA,
    EXIT_CODES,
    Comparison,
    LoadComparison,
    Row,
    Rule,
    compare,
    run_figures,
)
from assay.bench.compare import (
    Outcome as ComparisonOutcome,
)
from assay.bench.datasets import OwnPrompts, ShareGptPrompts, TracePrompts
from assay.bench.doubt import Doubt
from assay.bench.fit import fitted
from assay.bench.goodput import Goodput, Slos, slos
from assay.bench.gpus import GpuReport, tokens_per_joule
from assay.bench.identity import Meant, Said, asked_who, identity_doubts
from assay.bench.job import Ended, Report
from assay.bench.level import Level
from assay.bench.metrics import Failures, Metrics, Steadiness
from assay.bench.models import served_model
from assay.bench.prompts import RandomPrompts, SharedPrefixPrompts
from assay.bench.record_file import RecordFile, read_records
from assay.bench.records import Outcome, RequestRecord
from assay.bench.requests import Endpoint, Json, Prompt, Sending, Target, target
from assay.bench.result_files import read_arm, read_run, work_of
from assay.bench.results import FIGURES, Measurement, Objection, RunFile
from assay.bench.run import Limits, OnProgress, Rung, Workload, measure
from assay.bench.saved import Output, bench
from assay.bench.server_metrics import Sample, ServerReport, TrafficReport, traffic_report
from assay.bench.source import Prompts, check_prompts, shares_prefixes, trace_length
from assay.bench.summary import DEFINITIONS, SUMMARY_SCHEMA, RunInfo, summary_json
from assay.bench.watch import metrics_sample
from assay.bench.words import WordFit

__all__ = [
    "COMPARE_SCHEMA",
    "DEFINITIONS",
    "EXIT_CODES",
    "FIGURES",
    "SUMMARY_SCHEMA",
    "Answer",
    "ClientReport",
    "Comparison",
    "ComparisonOutcome",
    "Doubt",
    "Ended",
    "Endpoint",
    "Failures",
    "Goodput",
    "GpuReport",
    "Json",
    "Level",
    "Limits",
    "LoadComparison",
    "Meant",
    "Measurement",
    "Metrics",
    "Objection",
    "OnProgress",
    "Outcome",
    "Output",
    "OwnPrompts",
    "Prompt",
    "Prompts",
    "RandomPrompts",
    "RecordFile",
    "Report",
    "RequestRecord",
    "Row",
    "Rule",
    "RunFile",
    "RunInfo",
    "Rung",
    "Said",
    "Sample",
    "Secret",
    "Sending",
    "ServerReport",
    "ShareGptPrompts",
    "SharedPrefixPrompts",
    "Slos",
    "Steadiness",
    "Target",
    "TracePrompts",
    "TrafficReport",
    "WordFit",
    "Workload",
    "answer",
    "answers",
    "asked_who",
    "bench",
    "check_prompts",
    "compare",
    "fitted",
    "identity_doubts",
    "measure",
    "metrics_sample",
    "prompt_logprobs",
    "read_arm",
    "read_records",
    "read_run",
    "replies",
    "run_figures",
    "served_model",
    "shares_prefixes",
    "slos",
    "summary_json",
    "target",
    "tokens_per_joule",
    "trace_length",
    "traffic_report",
    "work_of",
]
