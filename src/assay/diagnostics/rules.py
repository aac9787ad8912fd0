"""The rules of lint: one record for each code, from which help and reference pages are made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay._value import Value

if TYPE_CHECKING:
    from assay.deployment import FaultKind
    from assay.diagnostics.diagnostic import Severity


class Rule(Value):
    """One rule."""

    code: str
    """`ASY1xx` options, `ASY2xx` environment variables, `ASY3xx` what the file's own syntax does, `ASY4xx`
    what the engine makes of the command on this machine."""
    name: str
    """Short name."""
    severity: Severity
    """How much its findings matter."""
    finds: str
    """What it finds."""
    matters: str
    """Why that matters."""
    evidence: str
    """What it rests on."""
    limits: str
    """What it does not see."""
    fixes: str = ""
    """What `--fix` does, or empty."""


_DECLARED = "The engine's own declarations, read from the source at hand, with file and line."

RULES: tuple[Rule, ...] = (
    Rule(
        code="ASY101",
        name="unknown-option",
        severity="error",
        finds="An option that this version of the engine does not have, usually misspelt.",
        matters="The engine prints `unrecognized arguments` and exits after it has imported everything.",
        evidence=_DECLARED,
        limits="Options that a plugin adds at run time are not seen.",
    ),
    Rule(
        code="ASY102",
        name="ambiguous-option",
        severity="error",
        finds="An abbreviation that fits several options.",
        matters="The engine refuses it. One that was unique can become ambiguous with an upgrade.",
        evidence=_DECLARED,
        limits="None known.",
    ),
    Rule(
        code="ASY103",
        name="abbreviated-option",
        severity="note",
        finds="An option written as an abbreviation, which the engine's parser completes.",
        matters="It works until a later version adds an option with the same beginning.",
        evidence=_DECLARED,
        limits="None known.",
        fixes="Writes the full name.",
    ),
    Rule(
        code="ASY104",
        name="deprecated-option",
        severity="warning",
        finds="An option that the source calls deprecated.",
        matters="It goes away in a later version, and some deprecated options already do nothing.",
        evidence="The declaration's action class or help text.",
        limits="Deprecation that is only said in release notes is not seen.",
        fixes="Removes the option where the source shows that giving it does nothing.",
    ),
    Rule(
        code="ASY105",
        name="option-of-another-version",
        severity="error",
        finds="An option that other releases of the engine have and this one has not.",
        matters="The command was written for another version: an upgrade is missing, or went too far.",
        evidence="A table of each release's options, made by assay from the releases' own source.",
        limits="Releases that the table does not cover are named in the message.",
    ),
    Rule(
        code="ASY106",
        name="invalid-choice",
        severity="error",
        finds="A value that is not among the option's choices.",
        matters="The engine refuses to start.",
        evidence="The choices in the option's declaration.",
        limits="Choices that are built at run time are not known and not judged.",
    ),
    Rule(
        code="ASY107",
        name="invalid-value",
        severity="error",
        finds="A value of the wrong type, such as text for a number or broken JSON.",
        matters="The engine refuses to start.",
        evidence="The type in the option's declaration.",
        limits="Types that are functions of the engine are judged only where their source is understood.",
    ),
    Rule(
        code="ASY108",
        name="value-count",
        severity="error",
        finds="An option without its value, or a value given to a switch.",
        matters="The engine refuses to start.",
        evidence="The number of values in the option's declaration.",
        limits="None known.",
    ),
    Rule(
        code="ASY109",
        name="repeated-option",
        severity="warning",
        finds="An option given more than once, of which only the last counts.",
        matters="The earlier value is silently lost; whoever edits it later changes nothing.",
        evidence="The option's action in its declaration.",
        limits="None known.",
        fixes="Removes the earlier ones.",
    ),
    Rule(
        code="ASY110",
        name="default-given",
        severity="note",
        finds="An option given with the value that is its declared default.",
        matters="It changes nothing now. It pins the value if a later version changes the default.",
        evidence="The default in the option's declaration.",
        limits="A declared default is not the resolved value: the engine may treat `not given` in a way of "
        "its own. Where it can, the default is usually None, which cannot be given.",
    ),
    Rule(
        code="ASY111",
        name="option-nobody-reads",
        severity="warning",
        finds="An option whose name occurs nowhere in the engine's source outside its own declaration.",
        matters="It does nothing. Time spent on choosing its value is lost.",
        evidence="A search through every file of the source for field, destination and flag as a word, also "
        "in strings and comments; a single mention anywhere keeps the rule silent.",
        limits="Finds only the plainest cases: an option that is read, but only by code that never runs in "
        "this deployment, is not found.",
        fixes="Removes the option.",
    ),
    Rule(
        code="ASY112",
        name="missing-option",
        severity="error",
        finds="A command line without an option that the engine requires.",
        matters="The engine refuses to start.",
        evidence=_DECLARED,
        limits="Silent where words of the command line are not known before it runs.",
    ),
    Rule(
        code="ASY113",
        name="stray-word",
        severity="error",
        finds="A word that belongs to no option, often a value with a blank in it or a forgotten `--`.",
        matters="The engine prints `unrecognized arguments` and exits.",
        evidence="The engine takes no positional arguments.",
        limits="None known.",
    ),
    Rule(
        code="ASY114",
        name="config-file",
        severity="error",
        finds="A `--config` file that the engine cannot merge: missing value, wrong ending, not a mapping.",
        matters="The engine raises before it has parsed anything.",
        evidence="The engine's rules for merging a configuration file.",
        limits="A file that is not on this machine is not judged.",
    ),
    Rule(
        code="ASY201",
        name="unknown-environment-variable",
        severity="warning",
        finds="A variable with the engine's prefix that occurs nowhere in its source.",
        matters="It is silently ignored: misspelt, or of another version.",
        evidence="A search through every file of the source for the name as a word.",
        limits="Names that are put together at run time count as known where their beginning is found. In "
        "wheels with libraries too large to be searched, as vLLM's for CUDA, only names that are close to a "
        "known one or that another release declared are found.",
    ),
    Rule(
        code="ASY202",
        name="deprecated-environment-variable",
        severity="warning",
        finds="A variable that the source calls deprecated.",
        matters="It goes away in a later version.",
        evidence="The line of the engine's source that says so.",
        limits="None known.",
    ),
    Rule(
        code="ASY301",
        name="lost-quotes",
        severity="error",
        finds="Quotes that the file's own syntax takes away, usually those of a JSON value.",
        matters='The engine gets `{a:1}` instead of `{"a":1}`.',
        evidence="The quoting rules of systemd, of the shell, of YAML.",
        limits="None known.",
        fixes="Quotes the whole word.",
    ),
    Rule(
        code="ASY302",
        name="percent-specifier",
        severity="error",
        finds="A `%` that systemd replaces or refuses.",
        matters="`%Y-%m-%d` becomes a path and a machine id, silently.",
        evidence="systemd's specifiers.",
        limits="Specifiers that are plainly meant (`%i`, `%h`, `%n` in names and paths) are left alone.",
        fixes="Doubles the `%`.",
    ),
    Rule(
        code="ASY303",
        name="dollar-expansion",
        severity="error",
        finds="A `$` that is not expanded as a shell would, or that expands to nothing.",
        matters="The engine gets the text `$PORT`, or no word at all.",
        evidence="The rules of systemd, compose and Kubernetes for variables.",
        limits="Variables that only the host's environment sets are not known.",
        fixes="Writes `${NAME}` where that is what systemd expands.",
    ),
    Rule(
        code="ASY304",
        name="broken-continuation",
        severity="error",
        finds="A continued line that is not continued: blanks or a comment behind the backslash, or none.",
        matters="The rest of the command line is lost, and the service manager reports success.",
        evidence="The rules of systemd and of the shell for continued lines.",
        limits="None known.",
        fixes="Takes away the blanks behind the backslash.",
    ),
    Rule(
        code="ASY305",
        name="unbalanced-quotes",
        severity="error",
        finds="A quote that is never closed.",
        matters="The unit is refused, while the old process goes on serving.",
        evidence="The quoting rules of the file's syntax.",
        limits="None known.",
    ),
    Rule(
        code="ASY306",
        name="unknown-escape",
        severity="warning",
        finds="A backslash before a character that makes no escape.",
        matters="systemd passes it on with a warning; other versions may refuse it.",
        evidence="systemd's escapes.",
        limits="None known.",
    ),
    Rule(
        code="ASY307",
        name="semicolon",
        severity="error",
        finds="A word `;`, which begins a second command in ExecStart.",
        matters="The unit is refused.",
        evidence="systemd's rules for command lines.",
        limits="None known.",
    ),
    Rule(
        code="ASY308",
        name="shell-syntax",
        severity="error",
        finds="A pipe, a redirection, `&&`, `~` or a pattern where no shell reads it.",
        matters="The engine gets these characters as arguments.",
        evidence="systemd and container runtimes start programs without a shell.",
        limits="None known.",
    ),
    Rule(
        code="ASY309",
        name="second-exec-start",
        severity="error",
        finds="A second `ExecStart=` without an empty one before it.",
        matters="The unit is refused after daemon-reload, while the old process goes on serving.",
        evidence="systemd allows several only for Type=oneshot.",
        limits="Drop-ins that lie elsewhere are not seen.",
    ),
    Rule(
        code="ASY310",
        name="inline-comment",
        severity="error",
        finds="A comment behind a value, where the syntax knows none.",
        matters="The comment's words become arguments or part of the value.",
        evidence="The rules of the file's syntax for comments.",
        limits="None known.",
    ),
    Rule(
        code="ASY311",
        name="ignored-line",
        severity="warning",
        finds="A line that the file's reader ignores.",
        matters="What it was meant to set is not set.",
        evidence="The rules of the file's syntax.",
        limits="None known.",
    ),
    Rule(
        code="ASY312",
        name="missing-file",
        severity="error",
        finds="A file that is referred to and is not there.",
        matters="The service does not start.",
        evidence="A look beside the user's file.",
        limits="Files on another host are not looked for.",
    ),
    Rule(
        code="ASY401",
        name="does-not-start",
        severity="error",
        finds="A command that the engine's start-up code or a worker refuses for this model on this machine.",
        matters="A restart takes the service down, minutes pass, and it does not come back.",
        evidence="The line that raises and the tests before it, followed under the stated facts.",
        limits="Asked with `--verdicts`, of deployment files. What the facts leave open is not reported: "
        "`assay triage` names it.",
    ),
    Rule(
        code="ASY402",
        name="option-without-effect",
        severity="warning",
        finds="An option that does nothing here: nothing reads it, or no reached line tells the runs apart.",
        matters="Whoever set it believes in an effect that is not there.",
        evidence="The verdict of `assay explain`: dead or no_op, with the lines that show it.",
        limits="Asked with `--verdicts`, of deployment files. `unknown` is not reported.",
    ),
    Rule(
        code="ASY403",
        name="option-overridden",
        severity="warning",
        finds="An option whose value start-up code sets back to what it is without it.",
        matters="The server does not do what its command says.",
        evidence="The line that sets it and the tests before it.",
        limits="Asked with `--verdicts`, of deployment files.",
    ),
)

BY_CODE: dict[str, Rule] = {rule.code: rule for rule in RULES}

OF_FAULT: dict[FaultKind, str] = {
    "lost-quotes": "ASY301",
    "percent-specifier": "ASY302",
    "dollar-expansion": "ASY303",
    "broken-continuation": "ASY304",
    "unbalanced-quotes": "ASY305",
    "unknown-escape": "ASY306",
    "semicolon": "ASY307",
    "shell-syntax": "ASY308",
    "second-exec-start": "ASY309",
    "inline-comment": "ASY310",
    "ignored-line": "ASY311",
    "missing-file": "ASY312",
}
"""The rule of each fault that a reader of files finds."""
