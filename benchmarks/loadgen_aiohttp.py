"""The usual load generator, bare: aiohttp on uvloop, one session, json.loads of each event; a peer of assay.

Usage: python benchmarks/loadgen_aiohttp.py URL STREAMS REQUESTS TOKENS FILE, with an interpreter that has
aiohttp and uvloop. It stamps the send before the request and each event after it is parsed, as
`vllm bench serve` and `sglang.bench_serving` do, and writes what they write.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import aiohttp
import uvloop


async def one(session: aiohttp.ClientSession, url: str, number: int, tokens: int) -> dict[str, Any]:
    """One request."""
    asked = {
        "model": "fake",
        "prompt": f"{number} the of and to in is that it was for on are as with",
        "max_tokens": tokens,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    text, stamps, counted = "", [], 0
    sent = time.perf_counter()
    async with session.post(f"{url}/v1/completions", json=asked) as response:
        async for line in response.content:
            if not line.startswith(b"data: {"):
                continue
            said = json.loads(line[6:])
            if said["choices"] and said["choices"][0]["text"]:
                stamps.append(time.perf_counter())
                text += said["choices"][0]["text"]
            if said.get("usage"):
                counted = said["usage"]["completion_tokens"]
    gaps = [b - a for a, b in pairwise(stamps)]
    return {"ttft": stamps[0] - sent, "itl": gaps, "text": text, "tokens": counted}


async def main(url: str, streams: int, requests: int, tokens: int, into: Path) -> None:
    """A closed loop."""
    numbers, found = iter(range(requests)), []
    connector = aiohttp.TCPConnector(limit=0)
    timeout = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:

        async def stream() -> None:
            found.extend([await one(session, url, number, tokens) for number in numbers])

        began = time.perf_counter()
        await asyncio.gather(*(stream() for _ in range(streams)))
        took = time.perf_counter() - began
    document = {
        "output_throughput": sum(each["tokens"] for each in found) / took,
        "ttfts": [each["ttft"] for each in found],
        "itls": [each["itl"] for each in found],
        "generated_texts": [each["text"] for each in found],
    }
    into.write_text(json.dumps(document))


if __name__ == "__main__":
    url_, streams_, requests_, tokens_, into_ = sys.argv[1:]
    uvloop.run(main(url_, int(streams_), int(requests_), int(tokens_), Path(into_)))
