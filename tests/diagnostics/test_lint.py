"""Lint on real releases: what each rule finds, what it says, what its fix makes of the file."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.deployment import parse_engine, read_command, read_target
from assay.diagnostics import Choice, Diagnostic, LintResult, lint, write_edits
from assay.errors import InputError

pytestmark = pytest.mark.registry

SERVE = "python -m sglang.launch_server --model-path /m"
UNIT = "[Service]\nExecStart=/opt/venv/bin/python -m sglang.launch_server --model-path /m \\\n"

Check = Callable[..., tuple[LintResult, ...]]


@pytest.fixture
def check(engine_tree: Callable[[str], Path], tmp_path: Path) -> Check:
    """`check(path or command, "0.5.10")` lints against that real release."""

    def run(target: Path | str, version: str = "0.5.10") -> tuple[LintResult, ...]:
        engine = Choice(engine=parse_engine(str(engine_tree(version))), reason="the test")
        read = (
            read_command(target)
            if isinstance(target, str)
            else read_target(target, environment={}, home=tmp_path)
        )
        cache = engine_tree(version).with_name("lint-cache")
        return lint(str(target), read.launches, engine=engine, cache=cache)

    return run


def only(results: tuple[LintResult, ...], *, without: str = "") -> Diagnostic:
    (result,) = results
    (found,) = [each for each in result.diagnostics if each.code != without]
    return found


@pytest.mark.parametrize(
    ("arguments", "code", "option", "said"),
    [
        ("--tp_size 4", "ASY101", "--tp_size", "did you mean `--tp-size`?"),
        ("--contxt-length 4096", "ASY101", "--contxt-length", "`--context-length`"),
        ("--max-model-len 4096", "ASY101", "--max-model-len", "did you mean `--context-length`?"),
        ("--gpu-memory-utilization=0.9", "ASY101", "--gpu-memory-utilization", "`--mem-fraction-static`"),
        ("--cuda-graph 5", "ASY102", "--cuda-graph", "`--cuda-graph-max-bs`, `--cuda-graph-bs`"),
        ("--cont 4096", "ASY103", "--context-length", "a later version"),
        ("--schedule-policy lpmm", "ASY106", "--schedule-policy", "did you mean `lpm`?"),
        ("--attention-backend=flashinfr", "ASY106", "--attention-backend", "did you mean `flashinfer`?"),
        ("--tp-size four", "ASY107", "--tensor-parallel-size", ""),
        ("--tp-size 4.0", "ASY107", "--tensor-parallel-size", ""),
        ("--mem-fraction-static 85%", "ASY107", "--mem-fraction-static", ""),
        (
            "--json-model-override-args \"{'a': 1}\"",
            None,
            None,
            None,
        ),  # a plain string to the parser: nothing to find at this stage
        ("--model-loader-extra-config {a:1}", None, None, None),
        ("--mm-process-config '{a:1}'", "ASY107", "--mm-process-config", ""),
        ("--trust-remote-code=true", "ASY108", "--trust-remote-code", "alone"),
        ("--tp-size", "ASY108", "--tensor-parallel-size", ""),
        (
            "--served-model-name --tp-size 4",
            "ASY108",
            "--served-model-name",
            "`--served-model-name=--tp-size`",
        ),
        ("--tp-size 2 --tp-size 4", "ASY109", "--tensor-parallel-size", "take this one away"),
        ("--port 30000", "ASY110", "--port", "pin the value"),
        ("--num-continuous-decode-steps 4", "ASY111", "--num-continuous-decode-steps", "no effect"),
        ("--trust-remote-code true", "ASY113", None, "takes no value; leave `true` out"),
        ("--disable-cuda-graph false", "ASY113", None, "to have it off, leave both out"),
        ("'--tp 4'", "ASY113", None, "make two of it, `--tp` and `4`"),
        ("--trust_remote_code True", "ASY101", "--trust_remote_code", "It takes no value: leave `True` out"),
        ("--enable-cuda-graph", "ASY101", "--enable-cuda-graph", "there is only `--disable-cuda-graph`"),
        ("--no-trust-remote-code", "ASY101", "--no-trust-remote-code", "only `--trust-remote-code`"),
        ("--enable-prefix-caching", "ASY101", "--enable-prefix-caching", "does that by itself, unless"),
        ("--enable-deepep-moe", "ASY105", "--enable-deepep-moe", "`--moe-a2a-backend deepep` instead"),
        ("--kv-cache-dtype fp8", "ASY106", "--kv-cache-dtype", "mean `fp8_e5m2` or `fp8_e4m3`? The choices"),
        ("--dtype fp16", "ASY106", "--dtype", "did you mean `float16`?"),
        ("--tokenizer /t", "ASY102", "--tokenizer", "did you mean `--tokenizer-path`? Else write one"),
        ("--watchdog-timeout 300", "ASY110", "--watchdog-timeout", "pin the value"),
    ],
)
def test_each_rule_finds_its_case(
    check: Check, arguments: str, code: str | None, option: str | None, said: str | None
) -> None:
    results = check(f"{SERVE} {arguments}")
    if code is None:
        assert results[0].diagnostics == ()
        return
    found = only(results)
    assert (found.code, found.option) == (code, option)
    assert said is not None
    assert said in found.help


def test_a_command_without_a_model_does_not_start(check: Check) -> None:
    found = only(check("python -m sglang.launch_server --tp-size 2"))
    assert (found.code, found.option) == ("ASY112", "--model-path")


def test_an_option_of_a_later_release_is_said_to_be_one(check: Check) -> None:
    found = only(check(f"{SERVE} --enable-fused-moe-sum-all-reduce", "0.5.9"))
    assert found.code == "ASY105"
    assert "0.5.10 and later have it" in found.message
    assert check(f"{SERVE} --enable-fused-moe-sum-all-reduce")[0].diagnostics == ()


def test_an_option_of_an_earlier_release_is_said_to_be_one(check: Check) -> None:
    found = only(check(f"{SERVE} --enable-ep-moe"))
    assert found.code == "ASY105"
    assert "to 0.5.2" in found.message or "to 0.5." in found.message


def test_evidence_is_the_line_that_declares_it(check: Check, engine_tree: Callable[[str], Path]) -> None:
    found = only(check(f"{SERVE} --num-continuous-decode-steps 4"))
    for evidence in found.evidence:
        lines = (engine_tree("0.5.10") / evidence.site.file).read_text().splitlines()
        assert lines[evidence.site.line - 1].strip() == evidence.site.text
        assert "num" in evidence.site.text
        assert "continuous" in evidence.site.text


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ("--port 30000", "port: int = 30000"),
        ("--dtype float17", 'choices=["auto", "half", "float16", "bfloat16", "float", "float32"],'),
        ("--tp-size x", "type=int,"),
        ("--tensor-par 2", '"--tensor-parallel-size",'),
        ("--nccl-init a:1", '"--nccl-init-addr",  # For backward compatibility.'),
        ("--stream-output", 'help="[Deprecated] Use --incremental-streaming-output instead.",'),
    ],
)
def test_the_line_cited_shows_what_is_said(check: Check, arguments: str, line: str) -> None:
    (evidence,) = only(check(f"{SERVE} {arguments}")).evidence
    assert evidence.site.text.startswith(line)


def test_the_abbreviations_of_the_engine_s_own_documentation_are_no_news(check: Check) -> None:
    assert check(f"{SERVE} --tp 2 --dp 2")[0].diagnostics == ()


def test_a_repeat_under_another_name_says_which(check: Check) -> None:
    found = only(check(f"{SERVE} --tp-size 2 --tensor-parallel-size 4"))
    assert "given again, as `--tensor-parallel-size`, on the same line" in found.message


def test_options_that_something_reads_are_left_alone(check: Check) -> None:
    options = "--enable-fused-moe-sum-all-reduce --triton-attention-reduce-in-fp32 --cuda-graph-max-bs 512"
    assert check(f"{SERVE} {options}")[0].diagnostics == ()


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("Environment=SGLANG_ENABLE_JIT_DEEPGEM=0", "ASY201", "`SGLANG_ENABLE_JIT_DEEPGEMM`"),
        ("Environment=SGLANG_NOTHING_LIKE_THIS_AT_ALL=0", "ASY201", "no file"),
        ("Environment=SGLANG_ENABLE_SPEC_V2=1", None, ""),
        ("Environment=SGLANG_GC_LOG=1", "ASY202", "use `SGLANG_LOG_GC` instead"),
        ("Environment=SGL_ENABLE_SPEC_V2=1", "ASY202", "use `SGLANG_ENABLE_SPEC_V2` instead"),
        ("Environment=SGL_USE_DEEPGEMM_BMM=1", None, ""),
        ("Environment=NCCL_DEBUG=INFO HF_HOME=/x", None, ""),
    ],
)
def test_variables_with_the_engines_prefix(
    check: Check, tmp_path: Path, line: str, code: str | None, said: str
) -> None:
    unit = tmp_path / "llm.service"
    unit.write_text(f"[Service]\n{line}\nExecStart=/opt/nosuch/bin/{SERVE}\n")
    results = check(unit)
    if code is None:
        assert results[0].diagnostics == ()
    else:
        found = only(results)
        assert found.code == code
        assert said in found.help
        assert found.place.line == 2


FIXES = [
    ("--tp-size 2 \\\n  --tp-size 4", "--tp-size 4"),
    ("--num-continuous-decode-steps 4 \\\n  --tp-size 4", "--tp-size 4"),
    ("--tp-size 4 \\\n  --num-continuous-decode-steps 4", "--tp-size 4"),
    ('--tp-size 4 \\\n  --mm-process-config {"a": 1}', "--tp-size 4 \\\n  --mm-process-config '{\"a\": 1}'"),
    ("--cont 4096", "--context-length 4096"),
    ("--cont=4096", "--context-length=4096"),
    ("--crash-dump-folder /var/%Y-%m-%d", "--crash-dump-folder /var/%%Y-%%m-%%d"),
]


@pytest.mark.parametrize(("before", "after"), FIXES)
def test_fixes_mend_the_unit(check: Check, tmp_path: Path, before: str, after: str) -> None:
    unit = tmp_path / "llm.service"
    unit.write_text(f"{UNIT}  {before}\n\n[Install]\nWantedBy=multi-user.target\n")
    (result,) = check(unit)
    edits = [edit for found in result.diagnostics if found.fix for edit in found.fix.edits]
    write_edits(result.files, edits)
    assert unit.read_text() == f"{UNIT}  {after}\n\n[Install]\nWantedBy=multi-user.target\n"
    assert check(unit)[0].diagnostics == ()


def test_a_file_can_ask_for_peace(check: Check, tmp_path: Path) -> None:
    unit = tmp_path / "llm.service"
    unit.write_text(f"# assay: ignore=ASY110, ASY111\n{UNIT} --port 30000 --num-continuous-decode-steps 4\n")
    assert check(unit)[0].diagnostics == ()


def test_the_config_file_is_read_and_told_apart(check: Check, tmp_path: Path) -> None:
    (tmp_path / "serve.yaml").write_text("tp-size: 4\nschedule-policy: lpmm\ncontxt-length: 4096\n")
    unit = tmp_path / "llm.service"
    unit.write_text(f"{UNIT} --config /etc/sglang/serve.yaml\n")
    (result,) = check(unit)
    places = {found.code: (Path(found.place.file).name, found.place.line) for found in result.diagnostics}
    assert places == {"ASY106": ("serve.yaml", 2), "ASY101": ("serve.yaml", 3)}


def test_what_only_shows_at_run_time_is_counted_not_judged(check: Check, tmp_path: Path) -> None:
    script = tmp_path / "run.sh"
    script.write_text(f"#!/bin/bash\nexec {SERVE} --tp-size $(nvidia-smi -L | wc -l) --host $HOST\n")
    (result,) = check(script)
    assert result.diagnostics == ()
    assert result.unknown_words == 2


def test_secrets_are_known_to_the_report(check: Check) -> None:
    (result,) = check(f"{SERVE} --api-key sk-123456 --admin-api-key=sk-abcdef")
    assert result.secrets == frozenset({"sk-123456", "sk-abcdef"})


def test_a_launch_that_names_no_version_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nothing says which version"):
        lint("x", read_command(SERVE).launches, cache=tmp_path)


def test_what_starts_no_engine_has_no_result(check: Check) -> None:
    assert check("python -m http.server 80") == ()


def test_a_line_of_a_shell_is_no_server_of_the_image(check: Check, tmp_path: Path) -> None:
    path = tmp_path / "compose.yaml"
    path.write_text(
        "services:\n  llm:\n    image: lmsysorg/sglang:v0.5.10\n    command:\n      - bash\n      - -c\n"
        "      - |\n        python3 -m sglang.launch_server\n        --model-path /m\n        --tp-size 8\n"
    )
    (result,) = check(path)
    assert {found.code for found in result.diagnostics} == {"ASY311"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"{SERVE} {'--zzq 1 ' * 1200}", "more than 1,000 findings"),
        (f"{SERVE} {'--port 1 ' * 6000}", "a command of more than 10,000 words"),
    ],
)
def test_too_much_is_refused(check: Check, text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        check(text)


def test_too_many_servers_are_refused(check: Check, tmp_path: Path) -> None:
    script = tmp_path / "run.sh"
    script.write_text(f"{SERVE} &\n" * 300)
    with pytest.raises(InputError, match="starts more than 256 servers"):
        check(script)


def test_secrets_that_a_slip_tore_apart_are_known(check: Check) -> None:
    (result,) = check(f"{SERVE} --api-kye sk-1 sk-2 --port 3 --api-key one two thr --admin-api-kye=sk-4")
    assert result.secrets == {"sk-1", "sk-2", "one", "two", "thr", "sk-4"}


@pytest.mark.parametrize(
    ("script", "edits"),
    [("bash -c '{} {{\"a\":1}}'\n", 0), ('bash <<X\nX\n{} {{"a":1}}\n', 1)],
)
def test_no_quotes_are_put_into_a_quoted_script(
    check: Check, tmp_path: Path, script: str, edits: int
) -> None:
    path = tmp_path / "run.sh"
    path.write_text(script.format(f"{SERVE} --json-model-override-args"))
    found = only(check(path))
    assert found.code == "ASY301"
    assert len(found.fix.edits if found.fix else ()) == edits


def test_what_follows_a_redirection_is_told_with_it(check: Check, tmp_path: Path) -> None:
    unit = tmp_path / "llm.service"
    unit.write_text(UNIT + "  --tp-size 2 >> /var/log/llm.log 2>&1\n")
    found = only(check(unit))
    assert (found.code, found.place.column, found.place.end_column) == ("ASY308", 15, 39)


def test_a_comment_behind_a_backslash_is_told_once(check: Check, tmp_path: Path) -> None:
    unit = tmp_path / "llm.service"
    unit.write_text(UNIT + "  --tp-size 2 \\  # two\n  --port 1\n")
    assert only(check(unit)).code == "ASY304"


def test_a_variable_is_compared_by_what_stands_behind_the_prefix(check: Check, tmp_path: Path) -> None:
    script = tmp_path / "run.sh"
    script.write_text(f"export SGLANG_LOG_LEVEL=debug\n{SERVE}\n")
    assert only(check(script)).help == "no file of the engine's source has this name"


def test_the_server_before_a_semicolon_is_looked_at(check: Check, tmp_path: Path) -> None:
    unit = tmp_path / "llm.service"
    unit.write_text(f"[Service]\nExecStart=/usr/bin/{SERVE} --tpsize 2 ; /bin/true\n")
    (result,) = check(unit)
    assert [found.code for found in result.diagnostics] == ["ASY101", "ASY307"]


@pytest.mark.parametrize(
    ("assignment", "code", "said"),
    [
        ("SGLANG_PER_TOKEN_GROUP_QUANT_8BIT_V2=1", "ASY202", "take it away"),
        ("SGL_DISABLE_TP_MEMORY_INBALANCE_CHECK=1", "ASY202", "its name says the opposite"),
        ("SGLANG_ENABLE_THINKING=1", "ASY202", "use `SGLANG_DEFAULT_THINKING` instead"),
        ("SGL_FOO=1", "ASY201", "no file of the engine's source has this name"),
    ],
)
def test_what_is_said_of_variables(
    check: Check, tmp_path: Path, assignment: str, code: str, said: str
) -> None:
    script = tmp_path / "run.sh"
    script.write_text(f"export {assignment}\n{SERVE}\n")
    found = only(check(script, "0.5.12.post1"))
    assert found.code == code
    assert said in found.help


def test_the_value_of_an_option_that_takes_none_any_more_goes_with_it(check: Check, tmp_path: Path) -> None:
    script = tmp_path / "run.sh"
    script.write_text(f"{SERVE} --cuda-graph-bs 1 2 --hybrid-kvcache-ratio 4 --port 1\n")
    (result,) = check(script)
    edits = [edit for found in result.diagnostics if found.fix for edit in found.fix.edits]
    write_edits(result.files, edits)
    assert script.read_text() == f"{SERVE} --cuda-graph-bs 1 2 --port 1\n"


def test_nothing_is_called_unread_while_a_file_was_not_searched(
    engine_tree: Callable[[str], Path], tmp_path: Path
) -> None:
    fork = tmp_path / "fork"
    shutil.copytree(engine_tree("0.5.10") / "sglang", fork / "sglang")
    with (fork / "sglang" / "table.py").open("wb") as large:
        large.truncate(40 << 20)
    engine = Choice(engine=parse_engine(str(fork)), reason="the test")
    launches = read_command(f"{SERVE} --num-continuous-decode-steps 4").launches
    (result,) = lint("x", launches, engine=engine, cache=tmp_path / "cache")
    assert result.diagnostics == ()
    assert any("table.py" in line for line in result.unread)


def test_another_release_than_the_image_says_is_told(
    engine_tree: Callable[[str], Path], tmp_path: Path
) -> None:
    path = tmp_path / "run.sh"
    path.write_text(f"docker run --gpus all lmsysorg/sglang:v0.5.9 {SERVE}\n")
    launches = read_target(path, environment={}, home=tmp_path).launches
    engine = Choice(engine=parse_engine("sglang==0.5.10"), reason="--engine")
    cache = engine_tree("0.5.10").with_name("lint-cache")
    (result,) = lint("run.sh", launches, engine=engine, cache=cache)
    assert result.engine.chosen_by.startswith("--engine, though the tag of the image")
    assert result.engine.chosen_by.endswith("says sglang==0.5.9")
