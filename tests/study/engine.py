"""An engine that starts at once, whose options do known things: for whole studies."""

from __future__ import annotations

import json
import sys
from pathlib import Path

ARGUMENTS = """
import argparse
import dataclasses


@dataclasses.dataclass
class ServerArgs:
    model_path: str
    host: str = "127.0.0.1"
    port: int = 30000
    max_running_requests: int = 4
    page_size: int = 1
    schedule_policy: str = "fcfs"

    def __post_init__(self):
        pass

    def check_server_args(self):
        pass

    @staticmethod
    def add_cli_args(parser: argparse.ArgumentParser):
        parser.add_argument("--model-path", type=str, required=True)
        parser.add_argument("--host", type=str, default=ServerArgs.host)
        parser.add_argument("--port", type=int, default=ServerArgs.port)
        parser.add_argument("--max-running-requests", type=int, default=ServerArgs.max_running_requests)
        parser.add_argument("--page-size", type=int, default=ServerArgs.page_size)
        parser.add_argument("--schedule-policy", type=str, default=ServerArgs.schedule_policy)

    @classmethod
    def from_cli_args(cls, args: argparse.Namespace):
        attrs = [attr.name for attr in dataclasses.fields(cls)]
        return cls(**{attr: getattr(args, attr) for attr in attrs})


def prepare_server_args(argv):
    parser = argparse.ArgumentParser()
    ServerArgs.add_cli_args(parser)
    raw_args = parser.parse_args(argv)
    return ServerArgs.from_cli_args(raw_args)
"""

SERVER = """
import dataclasses
import json
import os
import signal
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from sglang.srt.server_args import prepare_server_args

arguments = prepare_server_args(sys.argv[1:])
print(f"server_args={arguments}", flush=True)
if arguments.page_size == 7:
    sys.exit("ValueError: No common block size for 7")
slots = threading.Semaphore(arguments.max_running_requests)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def say(self, value, kind="application/json"):
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        if self.path == "/v1/models":
            self.say({"data": [{"id": "tiny"}]})
        elif self.path == "/server_info":
            self.say(dataclasses.asdict(arguments))
        else:
            self.send_error(404)

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path != "/v1/completions":
            return self.send_error(404)
        count, words = asked["max_tokens"], len(asked["prompt"].split())
        if arguments.page_size == 5 and asked.get("stream"):
            print("CUDA error: an illegal memory access", flush=True)
            os._exit(1)
        usage = {"prompt_tokens": words, "completion_tokens": count, "total_tokens": words + count}
        if not asked.get("stream"):
            text = " ".join(f"w{at}" for at in range(count))
            return self.say({"choices": [{"text": text, "finish_reason": "length"}], "usage": usage})
        with slots:
            time.sleep(0.02)
            chunks = [{"choices": [{"text": "x ", "finish_reason": None}]} for _ in range(count - 1)]
            chunks.append({"choices": [{"text": "x", "finish_reason": "length"}]})
            chunks.append({"choices": [], "usage": usage})
            lines = b"".join(b"data: " + json.dumps(each).encode() + b"\\n\\n" for each in chunks)
            self.say(lines + b"data: [DONE]\\n\\n", "text/event-stream")

    def log_message(self, *_):
        pass


ThreadingHTTPServer.request_queue_size = 64
server = ThreadingHTTPServer((arguments.host, arguments.port), Handler)
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
server.serve_forever()
"""

DEPLOYMENT = """
name = "tiny"
engine = "./engine"
command = "env PYTHONPATH={root}/engine {python} -m sglang.launch_server --model-path m --port {port} {more}"

[model]
path = "model"

[hardware]
name = "CPU"
capability = "0.0"

[trials]
where = "in_place"
"""


def write(root: Path, port: int, more: str = "--max-running-requests 1") -> Path:
    """The engine, a model and a deployment file below a folder.

    `--max-running-requests` is what it says, `--schedule-policy` does nothing, `--page-size 7` dies at the
    start, `--page-size 5` under load.
    """
    srt = root / "engine" / "sglang" / "srt"
    srt.mkdir(parents=True)
    for folder in (srt.parent, srt):
        (folder / "__init__.py").write_text("")
    (srt / "server_args.py").write_text(ARGUMENTS)
    (srt.parent / "launch_server.py").write_text(SERVER)
    (root / "model").mkdir()
    (root / "model" / "config.json").write_text(json.dumps({"architectures": ["Qwen3ForCausalLM"]}))
    path = root / "tiny.toml"
    path.write_text(DEPLOYMENT.format(root=root, python=sys.executable, port=port, more=more))
    return path
