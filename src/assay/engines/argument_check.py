"""Programs that let an engine's own parser look at a command line, for the Python that serves.

Only the parser is asked, not the start-up code behind it: that looks for a GPU. The words come on stdin, as
they may hold secrets, and the last line of stdout is the answer as JSON. Read in the sources of SGLang 0.5.9
to 0.5.23 and of vLLM 0.20.0 to 0.32.0.
"""

from __future__ import annotations

_FRAME = r"""
import json, sys
words = json.load(sys.stdin)

def say(status, message=""):
    print()
    print(json.dumps({"status": status, "message": " ".join(message.split())[:600]}), flush=True)
    sys.stdout.flush()
    import os
    os._exit(0)

class Refused(Exception):
    pass

def refuse(message):
    raise Refused(message)

if any(word == "--config" or word.startswith("--config=") for word in words):
    say("unknown", "it has a file of arguments")
try:
    %s
    parser.error = refuse
except BaseException as error:
    say("unknown", "its parser was not to be had: %%s: %%s" %% (type(error).__name__, error))
try:
    parsed = parser.parse_args(words)
    validate(parsed)
except Refused as error:
    say("refuses", str(error))
except (ValueError, TypeError) as error:
    say("refuses", str(error))
except BaseException as error:
    say("unknown", "%%s: %%s" %% (type(error).__name__, error))
say("takes")
"""

_SGLANG = """
    import argparse
    from sglang.srt.server_args import ServerArgs
    parser = argparse.ArgumentParser(prog="sglang serve")
    ServerArgs.add_cli_args(parser)
    validate = lambda parsed: None
"""
_VLLM = """
    try:
        from vllm.utils.argparse_utils import FlexibleArgumentParser
    except ImportError:
        from vllm.utils import FlexibleArgumentParser
    try:
        from vllm.entrypoints.launchers import cli_args
    except ImportError:
        from vllm.entrypoints.openai import cli_args
    parser, validate = cli_args.make_arg_parser(FlexibleArgumentParser()), cli_args.validate_parsed_serve_args
"""
ARGUMENT_CHECKS = {"sglang": _FRAME % _SGLANG.strip(), "vllm": _FRAME % _VLLM.strip()}
"""By engine."""
