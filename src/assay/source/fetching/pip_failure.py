"""Tells from pip's own words why a release could not be fetched."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from assay._value import Value
from assay.errors import EngineNotFound, SourceError
from assay.source.fetching.tool import last_lines, redact

if TYPE_CHECKING:
    from collections.abc import Sequence

_NONE_FITS = re.compile(r"Could not find a version that satisfies|No matching distribution found")
_LISTED = re.compile(r"\(from versions: (?P<versions>[^)]*)\)")
_CAUSES: tuple[tuple[re.Pattern[str], str, str], ...] = (
    (
        re.compile(r"No space left on device|Disk quota exceeded", re.I),
        "the disk is full",
        "make room, or name another folder for the cache",
    ),
    (
        re.compile(
            r"ProxyError|proxy connection error|connect to proxy|\b407 (?:Client Error|Proxy)",
            re.I,
        ),
        "the proxy refused or could not be reached",
        "check HTTPS_PROXY and pip's proxy setting (pip config list)",
    ),
    (
        re.compile(
            r"\b401 (?:Client )?Error|\b401\b.{0,40}Unauthorized|User for \S+:|Credentials not correct"
        ),
        "the package index asks for a login, or does not accept the one it got (401)",
        "put valid credentials where pip finds them: pip config, PIP_INDEX_URL, .netrc or keyring",
    ),
    (
        re.compile(r"\b403 Client Error|\b403\b.{0,40}Forbidden|HTTP error 403"),
        "the package index refused access (403)",
        "check that your credentials for that index allow this package",
    ),
    (
        re.compile(r"CERTIFICATE_VERIFY_FAILED|SSLError|certificate verify failed|SSL verification", re.I),
        "the package index's certificate is not trusted",
        "name your company's certificate to pip: pip config set global.cert FILE",
    ),
    (
        re.compile(r"timed? ?out", re.I),
        "the package index did not answer in time",
        "try again, or raise pip's time-out: PIP_DEFAULT_TIMEOUT=60",
    ),
    (
        re.compile(
            r"connection error|NewConnectionError|Failed to establish|Failed to resolve|NameResolution"
            r"|Connection (?:refused|reset|aborted|broken)|Network is unreachable|No route to host"
            r"|Temporary failure in name resolution|Max retries exceeded|IncompleteRead",
            re.I,
        ),
        "the package index could not be reached",
        "check the network and pip's index (pip config list); or name a checkout or a wheel's file instead",
    ),
    (
        re.compile(r"\b5\d\d Server Error|HTTP error 5\d\d"),
        "the package index has an error of its own",
        "try again later",
    ),
)


class Attempt(Value):
    """One run of `pip download`."""

    code: int
    """Its exit status."""
    err: str
    """What it wrote to stderr."""
    log: str
    """Its log at the finest level: only there it says which index refused."""

    @property
    def versions(self) -> tuple[str, ...]:
        """The versions that it could have taken."""
        match = _LISTED.search(self.err)
        listed = match["versions"].split(",") if match else []
        return tuple(version.strip() for version in listed if version.strip() not in ("", "none"))


def failure_of(attempt: Attempt, requirement: str) -> SourceError | None:
    """Why it failed, or None where another platform's wheel may still be had."""
    none_fits = _NONE_FITS.search(attempt.err) is not None
    if none_fits and attempt.versions:
        return None
    said = _telling(attempt.log) + "\n" + attempt.err
    for pattern, cause, hint in _CAUSES:
        if match := pattern.search(said):
            line = said[said.rfind("\n", 0, match.start()) + 1 :].split("\n", 1)[0]
            return SourceError(
                f"cannot fetch {requirement}: {cause}{_host(line)}",
                hint=hint,
                details=_told_once((*last_lines(line), *last_lines(attempt.err))),
            )
    if none_fits:
        return None
    return SourceError(
        f"cannot fetch {requirement}: pip failed with status {attempt.code}",
        hint="its own words are below; pip download may say more",
        details=last_lines(attempt.err),
    )


def _telling(log: str) -> str:
    """The log's lines about what went wrong, without its timestamps."""
    lines = (re.sub(r"^\S+T[\d:,]+ ", "", line) for line in log.splitlines())
    return "\n".join(line for line in lines if re.match(r"Could not fetch|WARNING|ERROR|User for", line))


def _told_once(lines: Sequence[str]) -> tuple[str, ...]:
    """The lines without what differs between retries of the same, and without repeats."""
    plain = (re.sub(r"Retrying \(Retry\(.*?\)\) after ", "", line) for line in lines)
    return tuple(line for line in dict.fromkeys(plain) if "' is ignored: it is neither a file" not in line)


def _host(line: str) -> str:
    if match := re.search(r"https?://[^\s'\"]+", line):
        return f" at {redact(match[0])}"
    match = re.search(r"\bhost='(?P<host>[^']+)', port=(?P<port>\d+)", line)
    return f" at {match['host']}:{match['port']}" if match else ""


def no_fitting_wheel(attempts: Sequence[Attempt], name: str, version: str) -> EngineNotFound:
    """The error where the index answered and has no wheel of that release."""
    versions = {listed for attempt in attempts for listed in attempt.versions}
    last = _told_once(last_lines(re.sub(_LISTED, "", attempts[0].err)))
    if not versions:
        return EngineNotFound(
            f"no package {name} with any wheel in the package index that pip uses",
            hint="check the name and pip's index (pip config list), or name a checkout or a wheel's file",
            details=last,
        )
    return EngineNotFound(
        f"no wheel of {name} {version} in the package index that pip uses",
        hint=f"nearest versions there: {', '.join(_nearest(version, versions))}",
        details=last,
    )


def _nearest(version: str, versions: set[str], each_side: int = 3) -> list[str]:
    """The versions around the one that is not there, oldest first."""
    from packaging.version import InvalidVersion, Version

    known = sorted(versions, key=Version)
    try:
        at = sum(Version(each) < Version(version) for each in known)
    except InvalidVersion:
        at = len(known)
    return known[max(0, at - each_side) : at + each_side]
