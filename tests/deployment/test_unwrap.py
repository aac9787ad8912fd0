"""Wrappers are taken off down to the program that runs in the end."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.deployment import (
    Launch,
    UserFile,
    Written,
    command_line,
    parse_command,
    read_script,
    read_target,
    unwrap,
)
from assay.errors import AssayError, InputError


def _launch(text: str) -> Launch:
    return parse_command(Written.whole(UserFile(path="<test>", text=text)))


def _argv(launch: Launch) -> list[str]:
    return [word.text for word in launch.words]


RUN = ["python", "-m", "sglang.launch_server", "--tp", "4"]
PLAIN = "python -m sglang.launch_server --tp 4"


@pytest.mark.parametrize(
    "before",
    [
        "",
        "env ",
        "/usr/bin/env A=1 B='x y' ",
        "env -i -u X --unset=Y PATH=/bin ",
        "env -C /tmp -- ",
        "env - A=1 ",
        "exec ",
        "exec -a name ",
        "exec -cl ",
        "nohup ",
        "nice ",
        "nice -n 5 ",
        "nice -n5 ",
        "nice -5 ",
        "nice --adjustment=-5 ",
        "ionice -c 2 -n 0 ",
        "ionice -c2 -n0 -t ",
        "taskset -c 0-31 ",
        "taskset 0xff ",
        "taskset -ac 0,1 ",
        "chrt -f 50 ",
        "chrt --rr 10 ",
        "numactl --cpunodebind=0 --membind=0 ",
        "screen -dmS llm ",
        "screen -d -m -S llm env A=1 ",
        "tmux new-session -d -s llm ",
        "ssh -p 2222 user@host ",
        "apptainer exec --nv -B /data:/data image.sif ",
        "singularity -d run --nv image.sif ",
        "prlimit --memlock=unlimited ",
        "numactl -N 0 -m 0 -- ",
        "numactl --interleave all ",
        "numactl --physcpubind 0-15 -l ",
        "numactl -C 0-3 --localalloc ",
        "stdbuf -oL -eL ",
        "stdbuf -o L --error=0 ",
        "setsid -f ",
        "time ",
        "/usr/bin/time -v -o t.txt ",
        "timeout 3600 ",
        "timeout -k 5 -s INT 1h ",
        "timeout --signal=TERM --kill-after 5 60 ",
        "sudo ",
        "sudo -E -u serve ",
        "sudo -Eu serve A=1 ",
        "sudo --user=serve -- ",
        "command ",
        "tini -- ",
        "/usr/bin/tini -sg -- ",
        "dumb-init ",
        "dumb-init -r 15:2 -- ",
        "catatonit -- ",
        "gosu serve ",
        "srun ",
        "srun -N1 -n 1 --gpus-per-task=4 --ntasks-per-node 1 ",
        "srun --nodes=1 --ntasks 1 -w node1 -l --container-image=i.sqsh --container-mounts /a:/a ",
        "srun --jobid 1 --overlap --export=ALL,A=1 ",
        "mpirun -np 4 ",
        "mpirun --allow-run-as-root -x A=1 --mca btl tcp,self -H a:1,b:1 --bind-to none ",
        "mpiexec -n 2 -genv A 1 ",
        "uv run ",
        "uv run --with vllm --no-sync -p 3.12 ",
        "uv --project x run -- ",
        "poetry run ",
        "poetry -C dir run ",
        "conda run -n sgl --no-capture-output ",
        "conda run --live-stream -p /opt/env ",
        "micromamba run -n x ",
        "nsys profile -o out -t cuda,nvtx --force-overwrite true --delay=5 -x true ",
        "nsys profile --trace-fork-before-exec=true --cuda-graph-trace=node -w true -e A=1 ",
        "systemd-run --user --scope -p MemoryMax=1G --unit x -E A=1 ",
        "systemd-run --wait --pty --setenv=A=1 ",
        "docker run --rm -it --gpus all --shm-size 32g -p 30000:30000 -v /m:/m -e A=1 --ipc=host IMAGE ",
        "docker run -dit --name sgl --network host --ulimit memlock=-1 --init --privileged IMAGE ",
        "docker run --rm=true --device /dev/kfd --cap-add SYS_PTRACE --restart unless-stopped IMAGE ",
        "docker --context x container run --gpus '\"device=0,1\"' --env-file /nonexistent IMAGE ",
        "podman run --device nvidia.com/gpu=all --security-opt label=disable --userns keep-id IMAGE ",
        "nerdctl -n k8s.io run --gpus all IMAGE ",
        "docker exec -it -e A=1 -w /sgl-workspace sgl ",
        "podman exec -u root sgl ",
        "sudo -E env A=1 nohup nice -n 5 numactl -N 0 timeout 1h ",
        "sudo docker run --rm IMAGE env A=1 ",
    ],
)
def test_one_command_is_left(before: str) -> None:
    (launch,) = unwrap(_launch(before + PLAIN))
    assert _argv(launch) == RUN
    assert all(word.raw == word.text for word in launch.words)


@pytest.mark.parametrize(
    "text",
    [
        f"bash -c '{PLAIN}'",
        f"bash -lc 'exec {PLAIN}'",
        f"/bin/sh -c 'exec {PLAIN}'",
        f"bash -euo pipefail -c '{PLAIN}'",
        f"bash -o pipefail -ec -- '{PLAIN}'",
        f"bash --norc --rcfile x -c '{PLAIN}'",
        f"zsh -ic '{PLAIN}'",
        f"bash -c '{PLAIN.replace('4', '$1')}' zero 4",
        f"bash -c '{PLAIN.replace('--tp 4', '$@')}' zero --tp 4",
        f"bash -c 'exec \"$@\"' zero {PLAIN}",
        f'bash -c \'exec "$0" "$@"\' {PLAIN}',
        f"env TP=4 bash -c '{PLAIN.replace('4', '$TP')}'",
        f"docker run -e TP=4 IMAGE bash -c '{PLAIN.replace('4', '$TP')}'",
        f"docker run --entrypoint bash IMAGE -lc '{PLAIN}'",
        f"docker run --entrypoint=/bin/bash IMAGE -lc '{PLAIN}'",
        "docker run --entrypoint python IMAGE -m sglang.launch_server --tp 4",
        f"/usr/bin/docker run --rm IMAGE bash -lc 'exec {PLAIN}'",
        f"bash -c \"bash -c '{PLAIN}'\"",
        f"nohup bash -c \"env A=1 sh -c '{PLAIN}'\"",
        f"env -S '{PLAIN}'",
        f"env -S 'A=1 python -m' {PLAIN.partition('-m ')[2]}",
        "uv run -m sglang.launch_server --tp 4",
        f"sudo -u serve bash -c '{PLAIN}'",
        f"bash -c '{PLAIN} &'",
        f'bash -c "{PLAIN}"',
    ],
)
def test_nested_scripts_are_read(text: str) -> None:
    launches = [one for one in unwrap(_launch(text)) if one.words[0].text == "python"]
    assert [_argv(launch) for launch in launches] == [RUN]
    for word in launches[0].words[3:]:
        assert word.raw.strip("'\"") in (word.text, "TP=4", "uv")


def test_a_script_of_several_commands_gives_several_launches() -> None:
    launches = unwrap(
        _launch("bash -c 'cd /srv && source venv/bin/activate; A=1 python -m x --host $(hostname)'")
    )
    assert [_argv(launch) for launch in launches] == [
        ["cd", "/srv"],
        ["source", "venv/bin/activate"],
        ["hostname"],
        ["python", "-m", "x", "--host", "$(hostname)"],
    ] or [_argv(launch)[0] for launch in launches] == ["cd", "source", "python", "hostname"]
    python = next(launch for launch in launches if launch.words[0].text == "python")
    assert [(v.name, v.value) for v in python.environment] == [("A", "1")]
    assert [word.known for word in python.words] == [True, True, True, True, False]
    assert not any(word.editable for word in python.words)


@pytest.mark.parametrize(
    ("text", "environment"),
    [
        ("A=1 python", {"A": "1"}),
        ("A=1 env B=2 python", {"A": "1", "B": "2"}),
        ("A=1 B=1 env -u A python", {"B": "1"}),
        ("A=1 env -i B=2 python", {"B": "2"}),
        ("A=1 sudo python", {}),
        ("A=1 sudo -E python", {"A": "1"}),
        ("A=1 B=2 sudo --preserve-env=B C=3 python", {"B": "2", "C": "3"}),
        ("A=1 exec -c python", {}),
        ("A=1 docker run -e B=2 IMAGE python", {"B": "2"}),
        ("A=1 docker run -e A --env=B=x=y IMAGE python", {"A": "1", "B": "x=y"}),
        ("docker run -eA=1 -e 'B=a b' IMAGE python", {"A": "1", "B": "a b"}),
        ("docker run -e B=1 IMAGE env B=2 python", {"B": "2"}),
        ("A=1 docker exec -e B=2 c python", {"B": "2"}),
        ("A=1 srun --export=NONE python", {}),
        ("A=1 srun --export=ALL,B=2,C=3 python", {"A": "1", "B": "2", "C": "3"}),
        ("A=1 systemd-run -E B=2 python", {"B": "2"}),
        ("A=1 mpirun -x B=2 -x A python", {"A": "1", "B": "2"}),
        ("A=1 bash -c 'export B=2; C=3 python'", {"A": "1", "B": "2", "C": "3"}),
        ("A=1 bash -c 'unset A; python'", {}),
        ("A=1 nsys profile -e B=2 python", {"A": "1", "B": "2"}),
    ],
)
def test_the_environment_is_what_the_command_gets(text: str, environment: dict[str, str]) -> None:
    launch = unwrap(_launch(text))[-1]
    assert _argv(launch) == ["python"]
    assert {variable.name: variable.value for variable in launch.environment} == environment
    for variable in launch.environment:
        assert variable.value in variable.file.text[variable.start : variable.end]


def test_a_container_has_image_name_and_directory() -> None:
    (launch,) = unwrap(_launch("docker run --name sgl -w /srv lmsysorg/sglang:v0.5.10 --model-path m --tp 8"))
    assert (launch.image, launch.name, launch.directory) == ("lmsysorg/sglang:v0.5.10", "sgl", "/srv")
    assert _argv(launch) == ["--model-path", "m", "--tp", "8"]
    (launch,) = unwrap(_launch("docker run IMAGE"))
    assert (launch.image, launch.words) == ("IMAGE", ())


def test_a_variable_handed_on_from_nowhere_is_unknown() -> None:
    (launch,) = unwrap(_launch("docker run -e HF_TOKEN IMAGE python"))
    assert [(v.name, v.known) for v in launch.environment] == [("HF_TOKEN", False)]


def test_environment_files_lie_beside_the_script(tmp_path: Path) -> None:
    (tmp_path / "serve.env").write_text("# note\nA=1\nB='x y'\n\n  C=a=b\nHOME\n")
    (tmp_path / "run.sh").write_text(
        "docker run --env-file serve.env --env-file none.env -e A=2 IMAGE python\n"
    )
    (launch,) = unwrap(read_script(tmp_path / "run.sh")[0])
    values = [(v.name, v.value, v.known) for v in launch.environment]
    assert values == [
        ("A", "1", True),
        ("B", "'x y'", True),
        ("C", "a=b", True),
        ("HOME", "", False),
        ("A", "2", True),
    ]
    assert [Path(v.file.path).name for v in launch.environment] == ["serve.env"] * 4 + ["run.sh"]
    assert [v.place.line for v in launch.environment] == [2, 3, 5, 6, 1]
    assert [fault.kind for fault in launch.faults] == ["missing-file"]
    assert [Path(file.path).name for file in launch.files] == ["run.sh", "serve.env"]


def test_faults_of_nested_scripts_are_found_where_they_stand() -> None:
    text = "nohup bash -lc 'python -m x \\\n  --json {\"a\": 1} \\ \n  --tp 4'"
    launches = unwrap(_launch(text))
    assert [fault.kind for fault in launches[0].faults] == [
        "lost-quotes",
        "broken-continuation",
        "ignored-line",
    ]
    assert [(fault.place.line, fault.place.column) for fault in launches[0].faults] == [
        (2, 10),
        (2, 19),
        (3, 3),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "env",
        "bash run.sh",
        "bash",
        "docker ps",
        "docker run",
        "nohup",
        "command -v python",
        "taskset -p 1",
        "uv pip install x",
        "time",
        "sudo -u x",
        "bash -c",
        "bash -c ''",
        "python -c x",
        "numactl --show",
        "timeout 5",
    ],
)
def test_what_starts_nothing_comes_back_as_it_is(text: str) -> None:
    launch = _launch(text)
    assert unwrap(launch) == (launch,)


def test_wrappers_without_end_are_refused() -> None:
    with pytest.raises(InputError, match="within each other"):
        unwrap(command_line(["nohup"] * 1000 + ["python"]))
    itself = 'sh -c "$0" "$0"; sh -c "$0" "$0"'
    with pytest.raises(InputError, match="within each other"):
        unwrap(command_line(["sh", "-c", itself, itself]))


_WORDS = st.sampled_from(
    """env|-i|bash|-c|sh|-lc|A=1|docker|run|exec|-e|--env-file|x|python|--|-||-n|sudo|srun|nsys|profile|uv|conda
    |mpirun|--mca|timeout|5|env -i sh -c x|-S|'|"$@"|exec "$0" "$@"|--export=A,B=1|--export|--entrypoint
    |--preserve-env=A
    """.replace("\n    ", "").split("|")
)


@settings(deadline=None, max_examples=300)
@given(st.lists(_WORDS, min_size=1, max_size=8))
def test_any_words_raise_nothing_of_their_own(argv: list[str]) -> None:
    try:
        launches = unwrap(command_line(argv))
    except AssayError:
        return
    for launch in launches:
        for word in launch.words:
            assert len(word.offsets) == len(word.text) + 1
            assert list(word.offsets) == sorted(word.offsets)


@pytest.mark.parametrize(
    "before",
    """env -u X A=1|nice -n 5|timeout -k 5 60|stdbuf -oL|setsid -w|nohup|taskset -c 0|env - A=1|env -C / --
    |bash -euo pipefail -c 'exec "$@"' zero|sh -c '"$0" "$@"'|chrt -o 0|ionice -c2 -n 7
    """.replace("\n    ", "").split("|"),
)
def test_the_real_wrappers_agree(before: str) -> None:
    text = f"{before} printf %s-%s- --tp 'a b'"
    if subprocess.run(
        ["bash", "-c", f"command -v {before.split()[0]}"], capture_output=True, check=False
    ).returncode:
        pytest.skip("not installed")
    done = subprocess.run(["bash", "-c", text], capture_output=True, text=True, check=True, timeout=20)
    (launch,) = unwrap(_launch(text))
    assert _argv(launch) == ["printf", "%s-%s-", "--tp", "a b"]
    assert done.stdout == "--tp-a b-"


@pytest.mark.parametrize(
    "command",
    [
        f"tmux new -d -s llm 'cd /opt && {PLAIN}'",
        f"ssh -o BatchMode=yes node1 'cd /opt; nohup {PLAIN} > log 2>&1 &'",
        f"su - llm -c '{PLAIN}'",
        f"runuser -l llm -c '{PLAIN}'",
        f"ssh node1 \"bash -c '{PLAIN}'\"",
    ],
)
def test_a_script_in_one_word_is_read_by_a_shell(command: str) -> None:
    assert RUN in [_argv(found) for found in unwrap(_launch(command))]


def test_the_environment_stays_on_this_side_of_ssh() -> None:
    (found,) = unwrap(_launch(f"env SGLANG_X=1 ssh node1 '{PLAIN}'"))
    assert found.environment == ()


BLOCK = """\
apiVersion: v1
kind: Pod
spec:
  containers:
    - name: c
      command: [sh, -c]
      args:
        - |
          exec python -m server --port 1 \\
            --tp 4
"""


@pytest.mark.parametrize(
    "text", [BLOCK, BLOCK.replace("|", ">-").replace("\\", "").replace("  --tp", "--tp")]
)
def test_a_script_in_a_block_of_yaml_can_be_edited(tmp_path: Path, text: str) -> None:
    path = tmp_path / "pod.yaml"
    path.write_text(text)
    (launch,) = read_target(path, environment={}, home=tmp_path).launches
    assert _argv(launch)[-2:] == ["--tp", "4"]
    assert all(word.editable for word in launch.words)
    assert [word.raw for word in launch.words] == _argv(launch)


def test_a_script_in_quotes_cannot_be_edited(tmp_path: Path) -> None:
    path = tmp_path / "pod.yaml"
    path.write_text(BLOCK[: BLOCK.index("|")] + f'"{PLAIN}"\n')
    (launch,) = read_target(path, environment={}, home=tmp_path).launches
    assert not any(word.editable for word in launch.words)
