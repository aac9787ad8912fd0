"""What machines printed is read right, and what is odd about a live deployment is found."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from assay.deployment import load_deployment
from assay.errors import CommandFailed, InputError
from assay.facts import (
    Distribution,
    GpuState,
    GpuUser,
    LiveDeployment,
    RunningProcess,
    Served,
    ServedModel,
    deployment_text,
    differences,
    read_gpus,
    read_process,
    resolved_otherwise,
    same_command,
)
from assay.facts.gpus import parse_cuda, parse_gpu_users, parse_gpus, parse_nvlink
from assay.facts.installed import environment_of, parse_installed
from assay.facts.process import parse_process
from assay.facts.served import parse_has_metrics, parse_labels, parse_models, parse_server_info
from assay.hosts import LocalHost, StartCommand, UnitState
from assay.reports import described, live_json, remarks

PRINTED = Path(__file__).parent / "printed"
WORDS = ("/opt/venv/bin/python3", "-m", "sglang.launch_server", "--model-path", "Qwen/Qwen3-32B-FP8")


def printed(name: str) -> bytes:
    """Recorded on an H200 with driver 580."""
    return (PRINTED / name).read_bytes()


def test_an_h200() -> None:
    (gpu,) = parse_gpus(printed("h200-gpus.csv"))
    assert (gpu.index, gpu.name, gpu.memory_mib, gpu.used_mib) == (0, "NVIDIA H200", 143771, 0)
    assert (gpu.capability, gpu.driver, gpu.mig) == ("9.0", "580.159.04", "off")
    (user,) = parse_gpu_users(printed("h200-users.csv"))
    assert (user.gpu, user.pid, user.memory_mib, user.name) == (gpu.uuid, 472, 1542, "python3")
    assert parse_cuda(printed("h200-compute.txt")) == "13.0"
    assert parse_nvlink(printed("h200-topo.txt"), 1) is None


def test_devices_that_do_not_say_all() -> None:
    line = b"0, GPU-1, Quadro, big, 8192, [Not Supported], 470.1, [N/A], 0:1.0, [N/A]\n"
    (gpu,) = parse_gpus(line)
    assert (gpu.name, gpu.memory_mib, gpu.used_mib) == ("Quadro, big", 8192, None)
    assert (gpu.capability, gpu.driver, gpu.mig) == (None, "470.1", None)
    (user,) = parse_gpu_users(b"GPU-1, 7, [N/A], a, b\n")
    assert (user.memory_mib, user.name) == (None, "a, b")
    assert not parse_gpus(b"")
    assert not parse_gpu_users(b"\n")


@pytest.mark.parametrize(
    ("cells", "answer"), [("NV18 NV18", True), ("PHB NV18", False), ("SYS SYS", False), ("NV18", None)]
)
def test_links_between_two(cells: str, answer: object) -> None:
    first, _, second = cells.partition(" ")
    rows = [["", "GPU0", "GPU1", "NIC0"], ["GPU0", " X ", first, "PIX"]]
    rows += [["GPU1", second, " X ", "PIX"]] if second else []
    assert parse_nvlink("\n".join("\t".join(row) for row in rows).encode(), 2) is answer


@pytest.mark.parametrize("out", [b"No devices were found\n", b"x, y\n", b"\xff, a, b, c, d, e, f, g\n"])
def test_what_is_no_list(out: bytes) -> None:
    with pytest.raises(CommandFailed):
        parse_gpus(out)
    with pytest.raises(CommandFailed):
        parse_gpu_users(out)


def test_a_process_and_what_of_its_environment_is_read() -> None:
    process = parse_process(7, b"a\0\0b c\n\0\0\nNCCL_X=1\0SGLANG_TOKEN=s3cret\0SGLANG_Y=a=\nb\0\0no\0")
    assert process.words == ("a", "", "b c\n")
    assert process.environment == (("NCCL_X", "1"), ("SGLANG_Y", "a=\nb"))
    assert "b c" not in repr(process)
    with pytest.raises(CommandFailed, match="has ended"):
        parse_process(7, b"")


def test_this_very_process() -> None:
    import os

    process = read_process(LocalHost(), os.getpid())
    assert process.words == tuple(Path("/proc/self/cmdline").read_bytes().decode().split("\0")[:-1])
    assert {name for name, _ in process.environment} <= os.environ.keys()
    with pytest.raises(CommandFailed):
        read_process(LocalHost(), 2**22 + 1)
    with pytest.raises(InputError):
        read_process(LocalHost(), 0)


def test_installed() -> None:
    out = b"""folder /v/lib/python3.11/site-packages
dist flashinfer_python-0.6.7.dist-info
dist sglang-0.5.10.post1.dist-info
url {"url": "file:///home/me/sgl%20ang/python", "dir_info": {"editable": true}}
dist torch-2.9.1+cu129.dist-info
dist broken
folder /v/lib64/python3.11/site-packages
dist torch-1.0.dist-info
"""
    packages = "/v/lib/python3.11/site-packages"
    assert parse_installed(out) == (
        Distribution(name="flashinfer-python", version="0.6.7", folder=packages),
        Distribution(name="sglang", version="0.5.10.post1", folder="/home/me/sgl ang/python"),
        Distribution(name="torch", version="2.9.1+cu129", folder=packages),
    )
    assert environment_of(["python3"]) is environment_of([]) is environment_of(["/usr/bin/bash"]) is None


@pytest.mark.parametrize(
    "url", [b"{", b'{"url": 1}', b"[]", b'{"url": "https://x", "dir_info": {"editable": true}}']
)
def test_an_installation_that_is_no_checkout(url: bytes) -> None:
    (found,) = parse_installed(b"folder /f\ndist sglang-1.dist-info\nurl " + url + b"\n")
    assert found.folder == "/f"


def test_answers_of_servers() -> None:
    info = b'{"tp_size": 4, "api_key": "s3cret", "hf_token": "s3cret", "list": [1], "x": null}'
    assert parse_server_info(info) == {"tp_size": 4, "x": None}
    assert parse_models(b'{"data": [{"id": "a"}]}') == (ServedModel(name="a"),)
    assert parse_has_metrics(b"# HELP a b\n# TYPE a gauge\na 1\n")
    for body in (b"", b"[]", b"1", b'{"data": {}}', b'{"data": [1]}', b"\xff", b"[" * 100000):
        assert parse_models(body) == ()
        assert parse_server_info(body) == {}
        assert not parse_has_metrics(body)


def test_settings_of_vllm_stand_in_sections() -> None:
    """Recorded of vLLM 0.32.0 with VLLM_SERVER_DEV_MODE=1; its variables may hold secrets."""
    body = printed("vllm-server-info.json")
    settings = parse_server_info(body)
    asked = {"max_num_seqs": 8, "max_model_len": 2048, "enforce_eager": True, "dtype": "float32"}
    assert {name: settings[name] for name in asked} == asked
    assert settings["enable_prefix_caching"] is True
    assert "planted-s3cret" not in str(settings)
    assert "hf_token" not in settings
    assert parse_server_info(b'{"vllm_config": "model=x, dtype=y"}') == {}
    for flag, value, otherwise in [
        ("--max-model-len", "2k", False),
        ("--max-model-len", "2K", False),
        ("--max-num-seqs", "9", True),
        ("--dtype", "float32", False),
        ("--dtype", "bfloat16", True),
    ]:
        assert bool(resolved_otherwise(flag, value, settings)) == otherwise, flag


def live(
    *, words: tuple[str, ...] = WORDS, running: tuple[str, ...] = WORDS, reload: bool = False
) -> LiveDeployment:
    """A unit that runs as asked, but for what is given."""
    unit = UnitState(
        unit="llm.service", load_state="loaded", load_error="", active_state="active", sub_state="running",
        result="success", invocation_id="1", main_pid=7, restarts=0, exit_status=None, exit_kind="none",
        need_daemon_reload=reload, fragment_path="/etc/llm.service", drop_in_paths=(), job=None,
    )  # fmt: skip
    return LiveDeployment(
        host="gpu1",
        unit=unit,
        starts=(StartCommand(path=words[0], words=words, failure_ignored=False),),
        process=RunningProcess(pid=7, words=running, environment=(("NCCL_DEBUG", 'WARN"\\\x7f'),)),
        processes=(7, 8),
        gpus=GpuState(
            gpus=parse_gpus(printed("h200-gpus.csv")),
            users=(GpuUser(gpu="GPU-1", pid=8, memory_mib=1, name="x"),),
        ),
        served=Served(
            url="http://127.0.0.1:30000", models=(ServedModel(name="qwen"),), settings={"tp_size": 4}
        ),
        installed=(
            Distribution(name="sglang", version="0.5.10", folder="/x"),
            Distribution(name="torch", version="2.9.1+cu129", folder="/x"),
        ),
    )


def kinds(one: LiveDeployment) -> list[str]:
    return [each.kind for each in differences(one)]


def test_differences() -> None:
    assert kinds(live()) == []
    assert kinds(live(reload=True)) == ["not-reloaded"]
    assert kinds(live(words=(*WORDS, "--tp-size", "2"))) == ["not-restarted"]
    assert kinds(live(words=(*WORDS, "--x", "$HOME"))) == []
    assert kinds(live(words=(*WORDS, "--x", "${A}$$"), running=(*WORDS, "--x", "any$"))) == []
    assert kinds(live(words=(*WORDS, "--x", "${A}$$"), running=(*WORDS, "--x", "any"))) == ["not-restarted"]
    assert kinds(live(words=(*WORDS, "--tp-size", "2"), running=(*WORDS, "--tp-size", "2"))) == [
        "resolved-otherwise"
    ]
    assert kinds(live(running=("sglang::server",))) == []
    other = GpuState(users=(GpuUser(gpu="GPU-1", pid=99, memory_mib=None, name="y"),))
    assert kinds(msgspec.structs.replace(live(), gpus=other)) == ["other-gpu-user"]
    silent = msgspec.structs.replace(live(), served=Served(url="http://127.0.0.1:30000"))
    assert kinds(silent) == ["not-serving"]


@pytest.mark.parametrize(
    ("asked", "same"),
    [
        (("/usr/bin/numactl", "-N", "0", *WORDS), True),
        (("/usr/bin/env", "A=1", *WORDS), True),
        (("/bin/sh", "-c", f"exec {' '.join(WORDS)}"), True),
        (("/bin/sh", "-c", f'exec {WORDS[0]} "$@"', "x", *WORDS[1:]), True),
        (("/usr/bin/numactl", "-N", "0", *WORDS, "--x", "1"), False),
        (("/bin/sh", "-c", f"exec {' '.join(WORDS)} --x 1"), False),
    ],
)
def test_wrappers_give_way(asked: tuple[str, ...], same: bool) -> None:  # noqa: FBT001 -- a table
    assert same_command(asked, WORDS) is same


def test_differences_never_print_a_secret() -> None:
    asked, runs = (*WORDS, "--api-key", "s3cret-a"), (*WORDS, "--api-key=s3cret-b")
    assert "s3cret" not in "".join(
        each.message + each.help for each in differences(live(words=asked, running=runs))
    )


def test_a_deployment_file_that_loads(tmp_path: Path) -> None:
    words = (*WORDS, "--api-key", "s3cret", "--x", '{"a": "\x7f\\"}', "--y=\udcff")
    text = deployment_text(live(words=words, running=words), name="chat", config_file=None)
    assert "s3cret" not in text
    (tmp_path / "chat.toml").write_text(text)
    loaded = load_deployment(tmp_path / "chat.toml")
    assert [word.text for word in loaded.command.words][5:9] == ["--api-key", "***", "--x", '{"a": "\x7f\\"}']
    assert str(loaded.engine) == "sglang==0.5.10"
    assert (loaded.hardware.count, loaded.hardware.accelerator.memory_mib) == (1, 143771)
    assert loaded.environment[0].value == 'WARN"\\\x7f'
    assert loaded.live
    assert (loaded.live.unit, loaded.live.host, loaded.live.model) == ("llm.service", "gpu1", "qwen")
    assert loaded.trials.where == "nowhere"


def test_json_of_what_is_no_utf_8_and_of_secrets() -> None:
    words = (*WORDS, "--y", "a\udcff", "--api-key", "s3cret-a")
    told = live(words=words, running=(*words, "--z", "s3cret-a"))
    said = json.loads(live_json(told, differences(told)))
    assert said["running"][-5:] == ["a?", "--api-key", "***", "--z", "***"]
    assert [each["kind"] for each in said["differences"]] == ["not-restarted"]
    assert "s3cret" not in str(said) + described(told, differences(told), "x") + remarks(
        told, differences(told)
    )


def test_a_server_of_which_only_its_answers_are_known() -> None:
    served = Served(url="http://x:1", models=(ServedModel(name="m"),), settings={"version": "0.5.10"})
    text = deployment_text(LiveDeployment(host="this machine", served=served), name="m", config_file=None)
    assert 'engine = "sglang==0.5.10"' in text
    assert "# command" in text
    assert "# gpus" in text


def test_a_machine_without_accelerators() -> None:
    assert read_gpus(LocalHost()).gpus == () or read_gpus(LocalHost()).gpus[0].name


def test_labels_that_say_how_a_server_is_set_up() -> None:
    body = b"""# HELP vllm:cache_config_info Information of the LLMEngine CacheConfig
# TYPE vllm:cache_config_info gauge
vllm:cache_config_info{block_size="16",cache_dtype="auto",enable_prefix_caching="True",engine="0",
vllm:cache_config_info{block_size="16",cache_dtype="auto",prefix="True",share="0.9",engine="0"} 1.0
vllm:cache_config_info{block_size="16",cache_dtype="auto",prefix="True",share="0.9",engine="1"} 1.0
python_info{implementation="CPython",version="3.11.7"} 1.0
vllm:lora_requests_info{api_token="x"} 1.0
vllm:num_requests_running{engine="0",block_size="7"} 0.0
"""
    assert parse_labels(body) == {
        "block_size": 16,
        "cache_dtype": "auto",
        "prefix": True,
        "share": 0.9,
    }
