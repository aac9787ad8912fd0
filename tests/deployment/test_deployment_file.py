"""The deployment file: what it says arrives, and every fault of it is told at once, with its line."""

from __future__ import annotations

import contextlib
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.deployment import KEYS, Key, Library, OwnCandidate, UserFile, load_deployment
from assay.deployment.toml_file.toml import parse_toml
from assay.errors import AssayError, DeploymentError, InputError

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples" / "deployments").glob("*.toml"))

HEAD = 'engine = "sglang==0.5.10"\n'
COMMAND = 'command = "python -m sglang.launch_server --tp 4"\n'
MODEL = '[model]\npreset = "Qwen3-8B"\n'
HARDWARE = '[hardware]\ngpus = "4x H100"\n'
PLAIN = HEAD + COMMAND + MODEL + HARDWARE


def write(folder: Path, text: str) -> Path:
    path = folder / "chat.toml"
    path.write_bytes(text.encode())
    return path


def faults(folder: Path, text: str) -> tuple[str, ...]:
    """The lines of the error, without the folder."""
    with pytest.raises(DeploymentError) as caught:
        load_deployment(write(folder, text))
    return tuple(line.removeprefix(f"{folder}/") for line in caught.value.details)


def test_a_plain_file_arrives(tmp_path: Path) -> None:
    deployment = load_deployment(write(tmp_path, PLAIN))
    assert deployment.name == "chat"
    assert str(deployment.engine) == "sglang==0.5.10"
    assert deployment.model.name == "Qwen/Qwen3-8B"
    assert deployment.model.find("num_hidden_layers") == 36
    assert (deployment.hardware.count, deployment.hardware.capability) == (4, (9, 0))
    assert deployment.command.kind == "inline"
    assert deployment.trials.where == "nowhere"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_loads(path: Path) -> None:
    deployment = load_deployment(path)
    assert deployment.name == path.stem
    engine = "vllm==0.32.0" if path.stem.endswith("-vllm") else "sglang==0.5.10"
    assert str(deployment.engine) == engine


def test_there_is_an_example_for_each_known_context() -> None:
    names = {path.stem for path in EXAMPLES}
    assert names >= {"qwen35-sm120", "qwen35-sm120-xbuf", "llama8b-h100", "dsv3-h200"}
    assert names >= {"gptoss-4090", "qwen32b-l40s", "glm45air-h100"}


@pytest.mark.parametrize(
    ("written", "text", "at"),
    [
        ('"a b"', "a b", "a"),
        ("'a\\b'", "a\\b", "\\"),
        ('"a\\tb"', "a\tb", "\\t"),
        ('"\\u00e9x"', "éx", "\\u00e9"),
        ('"""\npython \\\n   -m x\n"""', "python -m x\n", "-m"),
        ("'''\r\npython\r\nx'''", "python\nx", "\r\nx"),
        ('"""a""b"""', 'a""b', '""b'),
        ("''", None, ""),
    ],
)
def test_each_character_of_a_command_knows_its_place(
    tmp_path: Path, written: str, text: str | None, at: str
) -> None:
    whole = HEAD + f"command = {written}\n" + MODEL + HARDWARE
    if text is None:
        assert "empty text" in faults(tmp_path, whole)[0]
        return
    script = load_deployment(write(tmp_path, whole)).command.script
    assert script is not None
    assert script.text == text
    assert len(script.offsets) == len(text) + 1
    assert whole.index(at, whole.index("command = ") + 10) in script.offsets


def test_the_words_of_a_list_stand_where_they_are_written(tmp_path: Path) -> None:
    text = HEAD + 'command = [\n  \'python\', # which\n  "-m", "x\\ty",\n]\n' + MODEL + HARDWARE
    words = load_deployment(write(tmp_path, text)).command.words
    assert [word.text for word in words] == ["python", "-m", "x\ty"]
    assert [word.raw for word in words] == ["'python'", '"-m"', '"x\\ty"']
    assert words[2].place.line == 4
    assert {word.syntax for word in words} == {"toml"}


@pytest.mark.parametrize(
    ("way", "selector", "kind", "name"),
    [
        ('unit = "run.txt"', "", "unit", None),
        ('script = "./run.txt"', "", "script", None),
        ('compose = "run.txt"', 'service = "llm"', "compose", "llm"),
        ('manifest = "run.txt"', 'container = "server"', "manifest", "server"),
    ],
)
def test_a_command_may_stand_in_another_file(
    tmp_path: Path, way: str, selector: str, kind: str, name: str | None
) -> None:
    (tmp_path / "run.txt").write_text("x")
    command = load_deployment(write(tmp_path, f"{way}\n{selector}\n{HEAD}{MODEL}{HARDWARE}")).command
    assert (command.kind, command.name) == (kind, name)
    assert command.path is not None
    assert Path(command.path).samefile(tmp_path / "run.txt")


def test_environment_libraries_and_trials_arrive(tmp_path: Path) -> None:
    text = PLAIN + (
        '[environment]\nA = "1 2"\nB = 0x10\n'
        '[libraries]\nflashinfer_python = "0.6.7"\ntorch = "2.9.1+cu128"\nDeep-EP = true\ntriton = "absent"\n'
        '[trials]\nwhere = "spare"\nhosts = ["root@gpu-1", "[::1]:22"]\n'
    )
    deployment = load_deployment(write(tmp_path, text))
    assert [(each.name, each.value, each.place.line) for each in deployment.environment] == [
        ("A", "1 2", 8),
        ("B", "0x10", 9),
    ]
    assert deployment.libraries == (
        Library(name="flashinfer-python", version="0.6.7"),
        Library(name="torch", version="2.9.1+cu128"),
        Library(name="deep-ep"),
        Library(name="triton", present=False),
    )
    assert (deployment.trials.where, deployment.trials.hosts) == ("spare", ("root@gpu-1", "[::1]:22"))


def test_hooks_arrive(tmp_path: Path) -> None:
    text = PLAIN + '[hooks]\ndrain = ["lb", "drain", ""]\nundrain = ["lb", "up"]\ntimeout_s = 60\n'
    hooks = load_deployment(write(tmp_path, text)).hooks
    assert (hooks.drain, hooks.undrain, hooks.timeout_s) == (("lb", "drain", ""), ("lb", "up"), 60.0)


def test_candidates_arrive_in_their_order(tmp_path: Path) -> None:
    text = PLAIN + (
        '[[candidates]]\nset = ["max-num-seqs=8", "x"]\nwhy = "long prompts"\n'
        '[[candidates]]\nwithout = ["enforce-eager"]\n'
    )
    assert load_deployment(write(tmp_path, text)).candidates == (
        OwnCandidate(set=("max-num-seqs=8", "x"), why="long prompts"),
        OwnCandidate(without=("enforce-eager",)),
    )


def test_stated_facts_replace_those_of_the_table(tmp_path: Path) -> None:
    hardware = (
        '[hardware]\ngpus = "4x H100"\ncount = 2\nmemory_mib = 1000\ncapability = "9.1"\nnvlink = false\n'
        'cuda = "12.8"\nhost_memory_gib = 512\n'
    )
    found = load_deployment(write(tmp_path, HEAD + COMMAND + MODEL + hardware)).hardware
    assert (found.count, found.accelerator.memory_mib, found.capability) == (2, 1000, (9, 1))
    assert (found.nvlink, found.cuda, found.host_memory_gib) == (False, "12.8", 512)
    assert found.stated == (
        "capability",
        "count",
        "cuda",
        "host_memory_gib",
        "memory_mib",
        "nvlink",
    )


def test_an_accelerator_that_is_not_in_the_table_is_described(tmp_path: Path) -> None:
    hardware = '[hardware]\nname = "NVIDIA X1"\ncapability = "13.0"\ncount = 3\n'
    found = load_deployment(write(tmp_path, HEAD + COMMAND + MODEL + hardware)).hardware
    assert (found.accelerator.name, found.capability, found.count, found.nvlink) == (
        "NVIDIA X1",
        (13, 0),
        3,
        None,
    )


def test_a_folder_of_source_is_relative_to_the_file(tmp_path: Path) -> None:
    deployment = load_deployment(write(tmp_path, PLAIN.replace("sglang==0.5.10", "./src/sglang")))
    assert deployment.engine.value == str(tmp_path / "src" / "sglang")


FAULTS = [
    ("", "engine: expected where the engine's source is"),
    ("", "model: expected a table, [model]"),
    ("", "hardware: expected a table, [hardware]"),
    ("", "command: expected how the server is started: one of `command`, `unit`"),
    ('engin = "sglang==1"', "chat.toml:1: engin: no such key; did you mean `engine`?"),
    ('engine = "sglang"', 'chat.toml:1: engine: expected an engine, got "sglang"; write a release'),
    ("name = 3", "chat.toml:1: name: expected a text in quotes, got 3"),
    ('name = " "', "chat.toml:1: name: expected a text in quotes, got an empty one"),
    ("command = 3", "chat.toml:1: command: expected a text in quotes or a list of texts, got a number"),
    ("command = []", "chat.toml:1: command: expected a command line, got an empty list"),
    ('command = ["a", 1]', "chat.toml:1: command[1]: expected a text in quotes, got a number"),
    ('command = "x"\nunit = "y"', "chat.toml:2: unit: expected only one of"),
    ('unit = "nowhere.service"', "chat.toml:1: unit: expected the path of a file, got"),
    ('service = "llm"', "chat.toml:1: service: expected `compose` beside it"),
    ("replicas = 2", "chat.toml:1: replicas: not yet supported"),
    ("[roles.prefill]\nx = 1", "chat.toml:1: roles: not yet supported"),
    ('[model]\nnam = "x"', "chat.toml:2: model.nam: no such key; did you mean `name`?"),
    ("[model]\n", "model.path: expected which model this is: one of `path`, `name` or `preset`"),
    ('[model]\npreset = "Qwen3-8b-x"', "chat.toml:2: model.preset: no model preset is called"),
    ('[model]\npath = "none"', "chat.toml:2: model.path: cannot read"),
    ('[model]\npath = "a"\npreset = "Qwen3-8B"', "chat.toml:3: model.preset: expected only one of"),
    ("model = 3", "chat.toml:1: model: expected a table, [model], got a number"),
    ('[hardware]\ngpus = "4x H10O"', "chat.toml:2: hardware.gpus: no accelerator called 'H10O' is known"),
    ('[hardware]\ncuda = "12.8"', "chat.toml:1: hardware.gpus: expected accelerators such as"),
    ('[hardware]\ngpus = "H100"\ncount = 0', "chat.toml:3: hardware.count: expected a whole number from 1"),
    (
        '[hardware]\ngpus = "H100"\nnvlink = "no"',
        'chat.toml:3: hardware.nvlink: expected true or false, got "no"',
    ),
    (
        '[hardware]\ngpus = "H100"\ncapability = "sm90"',
        "chat.toml:3: hardware.capability: expected a compute",
    ),
    (
        '[hardware]\ngpus = "H100"\ncuda = "new"',
        'chat.toml:3: hardware.cuda: expected a version such as "12.8"',
    ),
    (
        '[hardware]\ngpus = "H100"\ncuda = 12.8',
        "chat.toml:3: hardware.cuda: expected a text in quotes, got 12.8",
    ),
    ('[hardware]\ngpus = "H100"\nhost_memory_gib = nan', "chat.toml:3: hardware.host_memory_gib: expected"),
    (
        '[hardware]\ngpus = "H100"\ncommand = "x"',
        "`command` belongs at the top of the file, before the first",
    ),
    ("environment.X = true", "chat.toml:1: environment.X: expected a text in quotes or a number"),
    ('[environment]\n"a b" = "1"', 'chat.toml:2: environment."a b": expected the name of an environment'),
    ("[libraries]\ntorch = 2.9", "chat.toml:2: libraries.torch: expected a version such as"),
    ('[libraries]\na-b = "1"\nA_b = "1"', "chat.toml:3: libraries.A_b: expected each distribution once"),
    ('[hooks]\ndrain = ["x"]', "chat.toml:1: hooks.undrain: expected the words of a command beside `drain`"),
    ('[hooks]\ndrain = ["-x"]\nundrain = ["y"]', "chat.toml:2: hooks.drain: expected the words of a command"),
    ('[hooks]\ndrain = "lb drain"', "chat.toml:2: hooks.drain: expected a list of texts"),
    ('[trials]\nwhere = "here"', 'chat.toml:2: trials.where: expected one of "nowhere", "spare"'),
    ('[trials]\nwhere = "spare"', "chat.toml:1: trials.hosts: expected at least one host"),
    (
        '[trials]\nhosts = ["a", "-oProxyCommand=x"]',
        "chat.toml:2: trials.hosts[1]: expected the name of a host",
    ),
    ("[[candidates]]\nwhy = 'x'", "chat.toml:1: candidates[0].set: expected an option"),
    ("[[candidates]]\nsett = ['x']", "chat.toml:2: candidates[0].sett: no such key; did you mean `set`?"),
    ("[candidates]\nset = ['x']", "chat.toml:1: candidates: expected tables, each under its own"),
    ('[[model]]\npath = "x"', "chat.toml:1: model: expected a table, [model], got a list"),
]


@pytest.mark.parametrize(("text", "line"), FAULTS, ids=lambda text: text.replace("\n", " ")[:40])
def test_a_fault_is_told_with_its_place(tmp_path: Path, text: str, line: str) -> None:
    found = faults(tmp_path, text)
    assert any(line in each for each in found), found


def test_every_fault_is_told_at_once_in_order(tmp_path: Path) -> None:
    found = faults(
        tmp_path, 'name = 1\nengin = 2\nreplicas = 3\n[model]\npresett = "x"\n[hardware]\ngpus = 8\n'
    )
    places = [line.split(": ")[0] for line in found]
    assert len(found) == 8
    assert places == sorted(places, key=lambda place: int(place.partition(":")[2] or 0))


def test_thousands_of_faults_are_counted_not_listed(tmp_path: Path) -> None:
    found = faults(tmp_path, "\n".join(f"k{number} = 1" for number in range(80_000)))
    assert len(found) == 101
    assert found[-1].startswith("chat.toml: and ")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a = [1,,2]\n", "chat.toml:1: invalid value"),
        ("\n\nb = 'x\n", "chat.toml:3: "),
        ("a = 1\na = 2\n", "chat.toml:2: cannot overwrite a value"),
        ("\n[b", "chat.toml:2: expected ']'"),
        ("x = " + "9" * 5000, "chat.toml: a value that is too deep or too long"),
        ("a = 1\nx = " + "[" * 100_000, "chat.toml:2: nested deeper than 32 levels"),
        ("x = " + "{a=" * 100_000, "chat.toml:1: nested deeper than 32 levels"),
        ("a." * 200_000 + "b = 1", "chat.toml:1: nested deeper than 32 levels"),
        ("[" + "a." * 200_000 + "b]", "chat.toml:1: nested deeper than 32 levels"),
    ],
    ids=lambda text: text[:20],
)
def test_bad_or_hostile_toml_is_refused(tmp_path: Path, text: str, line: str) -> None:
    assert faults(tmp_path, text)[0].startswith(line)


def test_bytes_that_are_not_utf8_are_refused_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / "chat.toml"
    path.write_bytes(b"a = 1\nb = '\xff'\n")
    with pytest.raises(DeploymentError) as caught:
        load_deployment(path)
    assert caught.value.details == (f"{path}:2: not UTF-8, which TOML must be",)


def test_a_file_of_more_than_a_mebibyte_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="more than"):
        load_deployment(write(tmp_path, "#" * (1 << 20) + "\n"))


def test_no_value_of_the_environment_or_the_command_is_ever_shown(tmp_path: Path) -> None:
    secret = "hf_VerySecret"  # noqa: S105 - made up
    text = (
        f'command = ["--token", ["{secret}"]]\nHF_TOKEN = "{secret}"\n'
        f'[environment]\nA = ["{secret}"]\n"B C" = "{secret}"\nD = {{ x = "{secret}" }}\n'
    )
    assert secret not in "\n".join(faults(tmp_path, text))


def test_a_password_in_a_url_is_not_shown(tmp_path: Path) -> None:
    found = faults(tmp_path, 'engine = "git+https://me:hunter2@example.org/x"')
    assert any("//…@example.org" in line for line in found)
    assert "hunter2" not in "\n".join(found)


def test_the_reference_page_has_every_key() -> None:
    page = (ROOT / "docs" / "reference" / "deployment-file.md").read_text(encoding="utf-8")
    for key in KEYS:
        assert f"`{key.path}`" in page
        assert key.example in page


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.path)
def test_every_example_line_is_toml_of_that_key(key: Key) -> None:
    (name,) = tomllib.loads(key.example)
    assert key.name in ("*", name)


_LINES = st.sampled_from(
    [
        *(key.example for key in KEYS),
        *(f"[{key.table}]" for key in KEYS if key.table),
        "[[a.b]]",
        "x = {y = [1, 'z']}",
    ]
)


@given(st.lists(_LINES | st.text(max_size=12), max_size=12).map("\n".join))
def test_any_text_is_a_deployment_or_an_error_of_ours(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.toml"
    path.write_text(text, encoding="utf-8", errors="surrogatepass", newline="")
    with contextlib.suppress(AssayError):
        load_deployment(path)


@given(st.lists(_LINES, unique=True, max_size=8).map("\n".join))
def test_every_value_of_valid_toml_has_its_place(text: str) -> None:
    try:
        document = parse_toml(UserFile(path="f", text=text))
    except DeploymentError:
        return
    _check_places(document.data, (), document.spans.keys() | {()})
    for path, span in document.spans.items():
        assert 0 <= span.key <= span.start <= span.end <= len(text), path


def _check_places(value: object, path: tuple[str | int, ...], known: object) -> None:
    assert isinstance(known, set)
    assert path in known
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        _check_places(item, (*path, key), known)
