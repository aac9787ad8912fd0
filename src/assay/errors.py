"""The errors that assay raises, and the exit code that each becomes.

A message says what, where and with which value; the hint says what to do next. Types and attributes are
API, messages are not.

    AssayError              any other failure of ours                     exit 1
    ├─ InputError           a file, option or value of the user is wrong  exit 2
    │  ├─ DeploymentError   a deployment file, with every fault of it
    │  └─ WorkloadError     what is to be sent is wrong
    ├─ Refused              assay will not do this                        exit 3
    ├─ HostError            a machine could not do it                     exit 4
    │  ├─ Unreachable       no connection; nothing was run
    │  ├─ CommandFailed     it was run, or refused there, and failed
    │  └─ OutcomeUnknown    the link was lost: it may have been done, and may still go on
    ├─ SourceError          the engine's source is not as expected        exit 5
    │  ├─ EngineNotFound    no such release, folder, package or image
    │  └─ UnknownIdiom      its options are declared in a way not known
    ├─ MeasurementError     no number may be drawn                        exit 6
    │  ├─ NotReady          the server cannot be reached, or is not ready
    │  └─ TooManyFailures   too few requests were answered
    ├─ RolloutError         a service could not be changed
    │  ├─ ApplyFailed       it serves as before                           exit 7
    │  └─ RestoreFailed     it needs a person                             exit 8
    └─ JournalError         locked, not writable, or of a newer version   exit 9
"""

from __future__ import annotations

from typing import ClassVar


class AssayError(Exception):
    """Base of all errors that assay raises on purpose.

    Attributes:
        message: what went wrong, where, with which value; one sentence.
        hint: what the user can do next, or an empty string.
        details: further lines, such as the end of another program's output.
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str = "", details: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.details = details


class InputError(AssayError, ValueError):
    """A file, option or value that the user gave is wrong."""

    exit_code = 2


class DeploymentError(InputError):
    """A deployment file is wrong; `details` has one line for each fault: `file: key: what was expected`."""


class WorkloadError(InputError):
    """What is to be sent to a server is wrong: a data set, lengths, rates."""


class Refused(AssayError):
    """assay understood and will not do it."""

    exit_code = 3


class HostError(AssayError):
    """A machine could not do what it was asked."""

    exit_code = 4


class Unreachable(HostError):
    """No connection to the machine; nothing was run on it."""


class CommandFailed(HostError):
    """A machine refused a command or file, or a command ended badly or took too long and was ended."""


class OutcomeUnknown(HostError):
    """The link was lost under way: what was asked may have been done or not, and may still go on."""


class SourceError(AssayError):
    """The engine's source is not as expected."""

    exit_code = 5


class EngineNotFound(SourceError):
    """No such release, folder, installed package or image."""


class UnknownIdiom(SourceError):
    """The engine declares its options in a way that no idiom module knows."""


class MeasurementError(AssayError):
    """No number may be drawn from a measurement."""

    exit_code = 6


class NotReady(MeasurementError):
    """The server cannot be reached, or does not answer as a server of this kind does."""


class TooManyFailures(MeasurementError):
    """Too few requests were answered for any number to mean something."""


class RolloutError(AssayError):
    """A service could not be changed."""

    exit_code = 7


class ApplyFailed(RolloutError):
    """A change failed and was taken back: the service was seen to serve as before."""


class RestoreFailed(RolloutError):
    """A service was not seen to serve as before; `details` says what a person must do."""

    exit_code = 8


class JournalError(AssayError):
    """The journal is locked, cannot be read or written, or was written by a newer version."""

    exit_code = 9
