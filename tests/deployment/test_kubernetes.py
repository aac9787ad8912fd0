"""Kubernetes manifests: words, places, variables and faults."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.deployment.launch_text import as_text, check_edits, check_places

from assay.deployment import Launch, UserFile, YamlScalar, looks_like_kubernetes, read_kubernetes, read_yaml
from assay.deployment.containers.yaml_go import go_type
from assay.errors import AssayError, InputError

HERE = Path(__file__).parent / "kubernetes"
TEMPLATES = ("helm", "kustomization")
NAMES = sorted(path.stem for path in HERE.glob("*.yaml") if path.stem not in TEMPLATES)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(HERE, tmp_path / "manifests"))


def pod(tmp_path: Path, container: str) -> Launch:
    path = tmp_path / "pod.yaml"
    text = f"apiVersion: v1\nkind: Pod\nspec:\n  containers:\n    - {{name: c, image: i, {container}}}\n"
    path.write_text(text, encoding="utf-8")
    (launch,) = read_kubernetes(path)
    check_places((launch,))
    return launch


def words(launch: Launch) -> list[str]:
    return [word.text for word in launch.words]


@pytest.mark.parametrize("name", NAMES)
def test_real_files(folder: Path, name: str) -> None:
    """NAME.txt was read through by a person."""
    launches = read_kubernetes(folder / f"{name}.yaml")
    check_places(launches)
    assert as_text(launches, folder) == (folder / f"{name}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_an_edit_changes_what_it_says_and_nothing_else(folder: Path, name: str) -> None:
    check_edits(folder / f"{name}.yaml", read_kubernetes)


@pytest.mark.parametrize("name", TEMPLATES)
def test_templates_are_to_be_rendered_first(name: str) -> None:
    with pytest.raises(InputError) as caught:
        read_kubernetes(HERE / f"{name}.yaml")
    assert caught.value.hint.startswith("render it first: ")


def test_braces_of_a_chat_template_are_no_helm_template(tmp_path: Path) -> None:
    launch = pod(tmp_path, "args: ['--chat-template', '{{ bos_token }}{% if x %}{{ messages }}']")
    assert words(launch)[1] == "{{ bos_token }}{% if x %}{{ messages }}"


# What kubectl 1.32 says to each as an item of `args` (kubectl set image --local -o jsonpath).
KUBECTL_REFUSES = ["8", "true", "0777", "on", "1e3", "y", "n", "yes", "No", "1_000", "0x10", "0o17", "010"]
KUBECTL_REFUSES += ["1.", "0b11", "+12", "1e+3", ".5", "-0", "08", "1.5", ".inf"]
KUBECTL_TAKES = ["'8'", '"true"', "1:30", "2024-01-01", "=", "<<", "!!str 8", "a", "''", "-1x"]


@pytest.mark.parametrize("text", KUBECTL_REFUSES)
def test_values_that_kubernetes_refuses(tmp_path: Path, text: str) -> None:
    launch = pod(tmp_path, f"args: [a, {text}]")
    assert words(launch) == ["a", text]
    (fault,) = launch.faults
    assert (fault.kind, fault.refused, fault.place.line) == ("lost-quotes", True, 5)
    assert fault.edits[0].text == f'"{text}"'


@pytest.mark.parametrize("text", KUBECTL_TAKES)
def test_values_that_kubernetes_takes(tmp_path: Path, text: str) -> None:
    assert pod(tmp_path, f"args: [a, {text}]").faults == ()
    (node,) = read_yaml(UserFile(path="f", text=f"{text}\n"))
    assert isinstance(node, YamlScalar)
    assert go_type(node, kubernetes=True) == "str"


def test_null_is_an_empty_argument(tmp_path: Path) -> None:
    launch = pod(tmp_path, "args: [a, ~, NULL]")
    assert (words(launch), launch.faults) == (["a", "", ""], ())


@pytest.mark.parametrize(
    ("text", "expected", "known"),
    [
        ("$(A)", "1", True),
        ("x$(A)y$(A)", "x1y1", True),
        ("$$(A)", "$(A)", True),
        ("$$$(A)", "$1", True),
        ("$$", "$", True),
        ("$", "$", True),
        ("a$b", "a$b", True),
        ("$(A", "$(A", True),
        ("$(SECRET)", "$(SECRET)", False),
        ("$(KUBERNETES_SERVICE_HOST)", "$(KUBERNETES_SERVICE_HOST)", False),
        ("$(B)", "1-1", True),
        ("$()", "$()", True),
    ],
)
def test_variables_are_expanded_as_kubernetes_does(
    tmp_path: Path,
    text: str,
    expected: str,
    known: bool,  # noqa: FBT001
) -> None:
    env = "{name: A, value: '1'}, {name: B, value: $(A)-$(A)}, {name: SECRET, valueFrom: {secretKeyRef: {}}}"
    launch = pod(tmp_path, f"args: ['{text}'], env: [{env}]")
    assert (launch.words[0].text, launch.words[0].known) == (expected, known)


def test_the_same_name_twice_and_an_order_of_definition(tmp_path: Path) -> None:
    env = "{name: L, value: $(A)}, {name: A, value: x}, {name: A, value: y}, {name: M, value: $(A)}"
    launch = pod(tmp_path, f"args: [$(A)], env: [{env}]")
    values = [(variable.name, variable.value) for variable in launch.environment]
    assert values == [("L", "$(A)"), ("A", "x"), ("A", "y"), ("M", "y")]
    assert words(launch) == ["y"]


def test_a_shell_script_keeps_its_places(tmp_path: Path) -> None:
    path = tmp_path / "pod.yaml"
    shutil.copy(HERE / "shell.yaml", path)
    (launch,) = read_kubernetes(path)
    script = launch.words[2].written()
    at = script.text.index("--host")
    assert script.file.text[script.offsets[at] :].startswith("--host $(hostname -i)")
    assert launch.faults == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\n", "no Kubernetes object"),
        ("kind: Pod\n", "no Kubernetes object"),
        ("apiVersion: v1\nkind: Pod\n  a: b\n", r"pod.yaml:3:\d+: "),
        ("apiVersion: v1\nkind: Pod\nspec: {containers: [{name: {{ x }}-{{ y }}}]}\n", "template"),
    ],
)
def test_files_that_cannot_be_read(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "pod.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read_kubernetes(path)


def test_what_looks_like_kubernetes() -> None:
    for text, expected in [
        ("apiVersion: v1\nkind: Pod\n", True),
        ("services: {a: {}}", False),
        ("- 1", False),
    ]:
        assert looks_like_kubernetes(read_yaml(UserFile(path="f", text=text))[0]) is expected


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                "x",
                " ",
                "--a",
                "'",
                '"',
                "\\",
                "\n      ",
                "$(A)",
                "$$",
                "$A",
                "${A}",
                "- ",
                "[",
                "]",
                "{",
                "}",
                ", ",
            ]
        ),
        max_size=20,
    ).map("".join),
    st.sampled_from(["args", "command", "env", "envFrom"]),
)
def test_any_manifest_gives_words_with_places_or_an_error_of_ours(
    tmp_path_factory: pytest.TempPathFactory, text: str, key: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "pod.yaml"
    path.write_text(
        f"apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - args: [$(A)]\n    {key}: {text}\n",
        encoding="utf-8",
    )
    try:
        launches = read_kubernetes(path)
    except AssayError:
        return
    check_places(launches)


@pytest.mark.parametrize(
    "args",
    [
        "[" + "8, " * 50_000 + "]",
        "[" + "$(X), " * 50_000 + "]",
        "['" + "$(A)" * 50_000 + "']",
        "['" + "$(" * 100_000 + "']",
        "['" + "$A" * 100_000 + "']",
    ],
    ids=lambda value: value[:10],
)
def test_hostile_manifests_end_soon(tmp_path: Path, args: str) -> None:
    path = tmp_path / "pod.yaml"
    env = "env: [{name: A, value: " + "x" * 1000 + "}]"
    path.write_text(
        f"apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - {env}\n    args: {args}\n", encoding="utf-8"
    )
    try:
        check_places(read_kubernetes(path))
    except InputError as error:
        assert "more than" in error.message  # noqa: PT017 - both ends are good


LWS = """\
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
spec:
  leaderWorkerTemplate:
    leaderTemplate:
      spec:
        containers:
          - name: c
            command: [server, "--dist-init-addr=$(LWS_LEADER_ADDRESS):20000", --nnodes, $(LWS_GROUP_SIZE)]
"""


def test_controllers_of_other_kinds_set_variables_that_the_manifest_does_not_name(tmp_path: Path) -> None:
    path = tmp_path / "lws.yaml"
    path.write_text(LWS)
    (launch,) = read_kubernetes(path)
    assert launch.faults == ()
    assert [word.known for word in launch.words] == [True, False, True, False]


@pytest.mark.parametrize(("kind", "faults"), [("Job", 0), ("Deployment", 1)])
def test_an_indexed_job_has_its_index(tmp_path: Path, kind: str, faults: int) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(
        f"apiVersion: batch/v1\nkind: {kind}\nspec: {{template: {{spec: {{containers: ["
        "{name: c, command: [server, --node-rank, $(JOB_COMPLETION_INDEX)]}]}}}\n"
    )
    (launch,) = read_kubernetes(path)
    assert len(launch.faults) == faults
