"""Change a running service so that it can always be undone: plan, apply, wait until ready, restore."""

from assay.rollout.after import Intent, Look, Status, come_back, promote, restart, rollback, status
from assay.rollout.apply import apply
from assay.rollout.change import Change, Setting, changed_words, parse_change
from assay.rollout.checks import Check, check_machine, checked
from assay.rollout.drop_in import Layout, layout
from assay.rollout.failure import Failure, FailureKind, name_exit
from assay.rollout.holding import Hold, held, watched
from assay.rollout.machine import Machine
from assay.rollout.marks import Armed, Marks
from assay.rollout.permission import check_permission
from assay.rollout.plan import Outcome, Patience, Plan, Step
from assay.rollout.preflight import Preflight, preflight
from assay.rollout.prepare import Prepared, Request, prepare
from assay.rollout.prove import StartFailed
from assay.rollout.several import JointPlan, apply_all
from assay.rollout.token import Service, ask_token, service_of

__all__ = [
    "Armed",
    "Change",
    "Check",
    "Failure",
    "FailureKind",
    "Hold",
    "Intent",
    "JointPlan",
    "Layout",
    "Look",
    "Machine",
    "Marks",
    "Outcome",
    "Patience",
    "Plan",
    "Preflight",
    "Prepared",
    "Request",
    "Service",
    "Setting",
    "StartFailed",
    "Status",
    "Step",
    "apply",
    "apply_all",
    "ask_token",
    "changed_words",
    "check_machine",
    "check_permission",
    "checked",
    "come_back",
    "held",
    "layout",
    "name_exit",
    "parse_change",
    "preflight",
    "prepare",
    "promote",
    "restart",
    "rollback",
    "service_of",
    "status",
    "watched",
]
