"""Drive a workload at a server, record every request, and say how far the numbers can be trusted."""

from assay._secret import Secret
from assay.bench.client_report import ClientReport
from assay.bench.doubts import Doubt
from assay.bench.fit import fitted
from assay.bench.job import Ended, Report
from assay.bench.level import Level
from assay.bench.metrics import Failures, Metrics, Steadiness
from assay.bench.models import served_model
from assay.bench.prompts import OwnPrompts, RandomPrompts
from assay.bench.records import Outcome, RecordFile, RequestRecord, read_records, write_records
from assay.bench.requests import Endpoint, Json, Prompt, Sending, Target, target
from assay.bench.run import Limits, OnProgress, Rung, Workload, measure
from assay.bench.saved import Output, bench
from assay.bench.summary import DEFINITIONS, SUMMARY_SCHEMA, RunInfo, summary_json

__all__ = [
    "DEFINITIONS",
    "SUMMARY_SCHEMA",
    "ClientReport",
    "Doubt",
    "Ended",
    "Endpoint",
    "Failures",
    "Json",
    "Level",
    "Limits",
    "Metrics",
    "OnProgress",
    "Outcome",
    "Output",
    "OwnPrompts",
    "Prompt",
    "RandomPrompts",
    "RecordFile",
    "Report",
    "RequestRecord",
    "RunInfo",
    "Rung",
    "Secret",
    "Sending",
    "Steadiness",
    "Target",
    "Workload",
    "bench",
    "fitted",
    "measure",
    "read_records",
    "served_model",
    "summary_json",
    "target",
    "write_records",
]
