"""Files that are changed word by word: what is not changed stays as it is written."""

from __future__ import annotations

import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.deployment import UserFile, compose_words, reword_service, reword_unit, states_command
from assay.errors import InputError

BEFORE = ("python3", "-m", "srv", "--model-path", "/m", "--tp-size", "4", "--enable-x")
AFTER = ("python3", "-m", "srv", "--model-path", "/m", "--tp-size", "8", "--json", '{"a": "50% $x"}')
UNIT = """# head
[Service]
ExecStart=/opt/v/bin/python3 -m srv \\
  # a remark
  --model-path /m/%N --api-key ${KEY} \\
  --json '{"a": "50%% $$HOME"}' \\
  --enable-x
Restart=always
"""


def test_a_unit() -> None:
    before = (
        *("/opt/v/bin/python3", "-m", "srv", "--model-path", "/m/llm", "--api-key", "${KEY}"),
        *("--json", '{"a": "50% $$HOME"}', "--enable-x"),
    )
    after = (*before[:-1], "--kv", 'fp8 {"%"} $$x')
    text = reword_unit(UserFile(path="here.service", text=UNIT), "llm.service", before, after, dollars=True)
    assert text == UNIT.replace("--enable-x", "--kv 'fp8 {\"%%\"} $$x'")


def test_a_command_that_a_drop_in_states() -> None:
    before = ("/opt/v/bin/python3", "-m", "another", "--model-path", "/m/llm", "--api-key", "${KEY}")
    with pytest.raises(InputError, match="states another command"):
        reword_unit(UserFile(path="a", text=UNIT), "llm.service", before, (*before, "--x"), dollars=True)


def compose(command: str) -> UserFile:
    return UserFile(path="c.yml", text=f"services:\n  a:\n    image: x\n  server:\n    command:{command}\n")


@pytest.mark.parametrize(
    ("command", "changed"),
    [
        (
            "\n      - python3\n      - -m\n      - srv\n      - --model-path\n      - ${MODEL}  # where\n"
            '      - --tp-size\n      - "4"\n      - --enable-x\n    restart: always',
            "\n      - python3\n      - -m\n      - srv\n      - --model-path\n      - ${MODEL}  # where\n"
            '      - --tp-size\n      - "8"\n      - "--json"\n      - "{\\"a\\": \\"50% $$x\\"}"\n'
            "    restart: always",
        ),
        (
            ' ["python3", -m, srv, --model-path, "${MODEL}", --tp-size, "4", --enable-x]',
            ' ["python3", -m, srv, --model-path, "${MODEL}", --tp-size, "8", "--json", '
            '"{\\"a\\": \\"50% $$x\\"}"]',
        ),
    ],
)
def test_a_list(command: str, changed: str) -> None:
    assert reword_service(compose(command), "server", BEFORE, AFTER) == compose(changed).text


def test_a_text() -> None:
    command = " >-\n      python3 -m srv --model-path ${MODEL}\n      --tp-size 4\n      --enable-x"
    after = (*BEFORE[:6], "8", "--kv", "fp8")
    changed = command.replace("4", "8").replace("--enable-x", "--kv fp8")
    assert reword_service(compose(command), "server", BEFORE, after) == compose(changed).text
    with pytest.raises(InputError, match="cannot be put safely"):
        reword_service(compose(command), "server", BEFORE, AFTER)


def test_words_that_are_not_in_the_file() -> None:
    with pytest.raises(InputError, match="gives 2 words"):
        reword_service(compose(" [serve, $ALL]"), "server", BEFORE, AFTER)
    with pytest.raises(InputError, match="states no command"):
        reword_service(compose(" [serve]"), "a", BEFORE, AFTER)
    assert states_command(compose(" [serve]"), "server")
    assert not states_command(compose(" [serve]"), "a")


def test_what_compose_makes_of_its_files() -> None:
    said = "command: serve 'a b' $$x\nentrypoint:\n- /e\n- '1'\n"
    assert compose_words(said) == (("/e", "1"), ("serve", "a b", "$x"))
    assert compose_words("") == (None, None)


WORD = st.text(st.sampled_from(string.printable + "äß€"), min_size=1, max_size=8).filter(
    lambda text: text.isprintable()
)


@given(st.lists(WORD, min_size=1, max_size=4), st.integers(1, 8), st.integers(0, 3))
@settings(max_examples=200, deadline=None)
def test_any_words(new: list[str], at: int, gone: int) -> None:
    """Of whatever is put in its place a file either gives exactly that, or it is refused: `_check` looks."""
    after = (*BEFORE[:at], *new, *BEFORE[at + gone :])
    command = "".join(f"\n      - {word!r}" for word in BEFORE)
    text = reword_service(compose(command), "server", BEFORE, after)
    kept = [line for line in text.splitlines() if line.startswith("      - '")]
    assert len(kept) >= len(BEFORE) - gone
    unit = UserFile(path="a.service", text="[Service]\nExecStart=/python3 -m srv --a 1 --b 2 --c 3\n")
    words = ("/python3", "-m", "srv", "--a", "1", "--b", "2", "--c", "3")
    wanted = (*words[:at], *(word.replace("$", "$$") for word in new), *words[at + gone :])
    reword_unit(unit, "a.service", words, wanted, dollars=True)
