"""Secrets: what is masked, and what is left readable."""

import time

import pytest

from assay.diagnostics import is_secret_name, mask, may_be_secret_name, secret_spans


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Environment=HF_TOKEN=hf_abc SGLANG_X=1", "Environment=HF_TOKEN=*** SGLANG_X=1"),
        ('Environment="HF_TOKEN=hf_abc"', 'Environment="HF_TOKEN=***"'),
        ("  --api-key sk-1 --port 1", "  --api-key *** --port 1"),
        ("  --api-key=sk-1 \\", "  --api-key=*** \\"),
        ("  --admin-api-key 'sk 1'", "  --admin-api-key '***'"),
        ("OPENAI_API_KEY: sk-abc", "OPENAI_API_KEY: ***"),
        ("AWS_SECRET_ACCESS_KEY=a/b+c", "AWS_SECRET_ACCESS_KEY=***"),
        ("POSTGRES_PASSWORD=x", "POSTGRES_PASSWORD=***"),
        ("https://user:pw@index/simple", "https://***@index/simple"),
        ("https://ghp_x@index/simple", "https://***@index/simple"),
        ("HF_TOKEN=-abc", "HF_TOKEN=***"),
        ("HF_TOKEN=%abc --api-key a%b$c", "HF_TOKEN=*** --api-key ***"),
        ("--api-key ${KEY:-sk-1}", "--api-key ***"),
        ('HF_TOKEN="a\\"b" X=1', 'HF_TOKEN="***" X=1'),
        (r'"{\"api_key\": \"sk\", \"a\": 1}"', r'"{\"api_key\": \"***\", \"a\": 1}"'),
        ("HF_TOKEN=a\"b --token c'd", "HF_TOKEN=*** --token ***"),
        ('{"token": "a"b"}', '{"token": "***"}'),
        ("export 'HF_TOKEN=a b' X=1", "export 'HF_TOKEN=***' X=1"),
        ("--api-key -x --port 1", "--api-key *** --port 1"),
        ("https://me:p@ss/w@host/x", "https://***@host/x"),
        ("# was: --token abc", "# was: --token ***"),
    ],
)
def test_what_looks_like_a_secret_is_masked(text: str, shown: str) -> None:
    assert mask(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "--max-total-tokens 16384",
        "--tokenizer-path /models/x",
        "--speculative-num-draft-tokens 4",
        "--api-key $KEY",
        "--api-key ${KEY:?unset}",
        "HF_TOKEN=$(cat /run/token)",
        "--api-key --port",
        "systemd replaces `%d` by the folder of credentials for this",
        "nothing in place of $API_KEY: set API_KEY in `.env`, or $HF_TOKEN",
        "--tokenizer-mode auto",
        "--speculative-token-map /m/map.pt",
        "SGLANG_PER_TOKEN_GROUP_QUANT_8BIT_V2=1",
        "SGLANG_INIT_NEW_TOKEN_RATIO=0.7 SGLANG_USE_AITER_FP8_PER_TOKEN=1",
        "--bucket-time-to-first-token 1 2",
        "http://127.0.0.1:30000/v1",
        "https://host/@scope/x",
        "oci://host/sglang@sha256:0",
    ],
)
def test_ordinary_options_stay_readable(text: str) -> None:
    assert mask(text) == text


def test_given_values_are_masked_wherever_they_stand() -> None:
    assert mask("got `x9y8`, not x9", frozenset({"x9y8"})) == "got `***`, not x9"
    assert secret_spans("aWXYZbWXYZ", frozenset({"WXYZ", ""})) == ((1, 5), (6, 10))
    assert mask("--api 8 x-8 18 `8`", frozenset({"8"})) == "--api *** x-8 18 `***`"


def test_names() -> None:
    assert is_secret_name("HUGGING_FACE_HUB_TOKEN")
    assert not is_secret_name("tokenizer_path")


def test_a_slip_in_the_name_of_a_secret() -> None:
    for name in ("--api-kye", "HF_TOKNE", "--apikey", "PASWORD", "--ap-key", "HF_SECERT"):
        assert may_be_secret_name(name), name
    for name in ("--tp-size", "--tokenizer-path", "--max-total-tokens", "CUDA_VISIBLE_DEVICES", "--take"):
        assert not may_be_secret_name(name), name


@pytest.mark.parametrize(
    "text",
    [
        "a" * 1_000_000,
        "a-" * 500_000,
        "token" * 200_000,
        "token=" * 160_000,
        "token=-" * 140_000,
        "token $" * 140_000,
        'token="' * 140_000,
        "token" + " " * 1_000_000,
        "://" + ":" * 1_000_000,
        "://a" * 250_000,
    ],
    ids=lambda text: text[:8],
)
def test_masking_takes_linear_time(text: str) -> None:
    began = time.process_time()
    mask(text)
    assert time.process_time() - began < 5
