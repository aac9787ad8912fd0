"""systemd's words: quotes, escapes, specifiers, variables. tests/rig compares them with a real systemd."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.deployment import (
    Launch,
    UserFile,
    Word,
    Written,
    quote_environment_file,
    quote_systemd,
    read_unit,
)
from assay.deployment.systemd.environment_file import parse_environment_file
from assay.deployment.systemd.words import read_commands

TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=30)


def launch(folder: Path, service: str, name: str = "llm.service") -> Launch:
    (folder / name).write_bytes(f"[Service]\n{service}\n".encode())
    return read_unit(folder / name)


def arguments(folder: Path, service: str, name: str = "llm.service") -> list[str]:
    return [word.text for word in launch(folder, service, name).words[1:]]


@pytest.mark.parametrize(
    ("written", "passed"),
    [
        # the table of what a real systemd 252 was seen to pass
        ("""--json '{"method": "eagle"}'""", ["--json", '{"method": "eagle"}']),
        ('--json {"a":1}', ["--json", "{a:1}"]),
        ("""--in=mid"quote"d 'it''s'""", ["--in=midquoted", "its"]),
        ("50%% 90%", ["50%", "90%"]),
        ("$$HOME ${A_ONE} $A_ONE --x=$A_ONE", ["$HOME", "one 'x y'", "one", "x y", "--x=$A_ONE"]),
        ("x${NOPE}x $NOPE y", ["xx", "y"]),
        (r'a\x20b "a\\b" "a\nb" \d+', ["a b", r"a\b", "a\nb", r"\d+"]),
        (r"a \; b", ["a", ";", "b"]),
        ("a \\ ", ["a", "\\"]),
        ("a \\\n# why\n  b", ["a", "b"]),
        # escapes and quotes
        (r"\xc3\xa4\u00e4\U0001F600\141", ["ää😀a"]),
        (r"\x00 \400 \x4", [r"\x00", r"\400", r"\x4"]),
        ("'' \"\" a''b", ["", "", "ab"]),
        ("a\\ b", ["a\\ b"]),
        ("'a \\\n  b'", ["a    b"]),
        ("a\u00a0b \u3000", ["a\u00a0b", "\u3000"]),
        # specifiers
        ("%n %N %p %i. %%n", ["llm.service", "llm", "llm", ".", "%n"]),
        # variables
        ("${A_ONE}${B} ${B", ["one 'x y'b", "${B"]),
        ("$B/x ${B}/x $B. a", ["b/x", "a"]),
        ("$(hostname) a", ["a"]),
        ("${B:-x}", ["${B:-x}"]),
        ("$$B $${B}", ["$B", "${B}"]),
    ],
)
def test_the_process_gets(tmp_path: Path, written: str, passed: list[str]) -> None:
    settings = "Environment=\"A_ONE=one 'x y'\" B=b\n"
    assert arguments(tmp_path, f"{settings}ExecStart=/bin/x {written}") == passed


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("/bin/x $B", ["/bin/x", "b"]),
        ("-/bin/x a", ["/bin/x", "a"]),
        ("@/bin/x zero a", ["/bin/x", "a"]),
        (":/bin/x $B ${B} $$", ["/bin/x", "$B", "${B}", "$$"]),
        ("+-:/bin/x ${B}", ["/bin/x", "${B}"]),
        ("!!/bin/x a", ["/bin/x", "a"]),
        ("'-/bin/x' a", ["/bin/x", "a"]),
        ("x a", ["x", "a"]),
    ],
)
def test_prefixes_of_the_program(tmp_path: Path, command: str, words: list[str]) -> None:
    read = launch(tmp_path, f"Environment=B=b\nExecStart={command}")
    assert [word.text for word in read.words] == words
    assert not any(fault.refused for fault in read.faults)


def test_specifiers_that_only_the_host_knows_make_a_word_unknown(tmp_path: Path) -> None:
    words = launch(tmp_path, "ExecStart=/bin/x %H a%%b%ib --user=%u").words
    assert [(word.text, word.known) for word in words[1:]] == [
        ("%H", False),
        ("a%bb", True),
        ("--user=%u", False),
    ]


@pytest.mark.parametrize(
    ("name", "passed"),
    [
        ("llm@0.service", ["llm@0.service", "llm@0", "llm", "0", "0"]),
        ("a-b@x-y\\x2dz.service", ["a-b@x-y\\x2dz.service", "a-b@x-y\\x2dz", "a-b", "x-y\\x2dz", "x/y-z"]),
        ("llm@.service", ["%n", "%N", "llm", "%i", "%I"]),
        ("llm.service.example", ["llm.service", "llm", "llm", "", ""]),
        ("unit.txt", ["%n", "%N", "%p", "%i", "%I"]),
    ],
)
def test_specifiers_of_the_name(tmp_path: Path, name: str, passed: list[str]) -> None:
    assert arguments(tmp_path, "ExecStart=/bin/x %n %N %p %i %I", name) == passed


@pytest.mark.parametrize(
    ("content", "values"),
    [
        ('A={"m":"x"}\n', {"A": '{"m":"x"}'}),
        ("A=1 # x\nB='2' # y\nC=\"3\"#z", {"A": "1 # x", "B": "2# y", "C": "3#z"}),
        ("# c\n; d\n A = 1 \n\tB=a  b\t\n", {"A": "1", "B": "a  b"}),
        ("export A=1\nB\nC=2\n", {"export A": "1", "C": "2"}),
        ("A='a b'\"c d\"e f\nB='a'  'b'\n", {"A": "a bc de f", "B": "ab"}),
        ('A="a\\"b\\\\c\\$d\\`e\\nf\\\ng"\n', {"A": 'a"b\\c$d`e\\nfg'}),
        ("A=a\\b\\\\c\\'d\\\ne f\nB=2\n", {"A": "ab\\c'de f", "B": "2"}),
        ("A='a\nb'\nB='open\nC=1\n", {"A": "a\nb", "B": "open\nC=1\n"}),
        ("A=$HOME/%n\r\nB=1\r\n", {"A": "$HOME/%n", "B": "1"}),
        ("A= \\\n x\nB=y \\ \n", {"A": " x", "B": "y  "}),
    ],
)
def test_environment_files(content: str, values: dict[str, str]) -> None:
    lines = parse_environment_file(UserFile(path="e", text=content))
    assert {line.name: line.value.text for line in lines if line.value is not None} == values


@given(st.lists(TEXTS, max_size=8))
def test_quoted_words_are_split_into_the_same_words(texts: list[str]) -> None:
    line = "/bin/x " + " ".join(quote_systemd(text, dollars=False) for text in texts)
    [command] = read_commands(Written.whole(UserFile(path="u", text=line)))
    assert [token.written.text.replace("%%", "%") for token in command.tokens[1:]] == texts


@given(TEXTS, TEXTS)
def test_quoted_values_of_an_environment_file(one: str, two: str) -> None:
    text = f"A={quote_environment_file(one)}\nB={quote_environment_file(two)}\n"
    lines = parse_environment_file(UserFile(path="e", text=text))
    assert [line.value and line.value.text for line in lines] == [one, two]


@pytest.mark.parametrize(
    "text", ["--tp", "50%", "$HOME", "a b", "", ";", "#x", 'a"b', "it's", "a\nb", "\\", "\udcff"]
)
def test_quoted_words_arrive(tmp_path: Path, text: str) -> None:
    assert arguments(tmp_path, f"ExecStart=/bin/x {quote_systemd(text)}") == [text]


def in_file(word: Word) -> list[str]:
    return [word.file.text[offset] for offset in word.offsets[:-1]]


def test_every_character_knows_its_place(tmp_path: Path) -> None:
    service = "Environment=B=bb \"C=c 'd e'\"\nExecStart=/bin/x 'a b' \\\n  --x=\\x41${B}z ${B} $C"
    words = launch(tmp_path, service).words
    assert [word.raw for word in words] == ["/bin/x", "'a b'", "--x=\\x41${B}z", "bb", "c", "'d e'"]
    assert in_file(words[1]) == ["a", " ", "b"]
    assert in_file(words[2]) == ["-", "-", "x", "=", "\\", "$", "$", "z"]
    assert in_file(words[5]) == ["d", " ", "e"]
    assert [word.editable for word in words] == [True, True, False, False, False, False]
    assert words[2].place.line == 4
    assert words[4].place.line == 2
    for word in words:
        assert len(word.offsets) == len(word.text) + 1
        assert list(word.offsets) == sorted(word.offsets)


def test_environment_files_beat_settings_and_are_found_beside_the_unit(tmp_path: Path) -> None:
    (tmp_path / "llm.env").write_text('A=file\nARGS="--tp 4"\n')
    read = launch(
        tmp_path, "EnvironmentFile=/nowhere/llm.env\nEnvironment=A=unit B=b\nExecStart=/bin/x ${A}${B} $ARGS"
    )
    assert [word.text for word in read.words[1:]] == ["fileb", "--tp", "4"]
    assert [Path(file.path).name for file in read.files] == ["llm.service", "llm.env"]
    assert read.words[2].syntax == "environment-file"
    assert read.words[2].raw == "--tp"
    assert read.faults == ()


def test_a_file_that_cannot_be_read_leaves_words_unknown_and_is_no_fault(tmp_path: Path) -> None:
    read = launch(tmp_path, "Environment=A=1\nEnvironmentFile=/nowhere/x.env\nExecStart=/bin/x ${A} $B c")
    assert [(word.text, word.known) for word in read.words[1:]] == [
        ("${A}", False),
        ("$B", False),
        ("c", True),
    ]
    assert read.faults == ()


def test_variables_passed_on_and_taken_away(tmp_path: Path) -> None:
    service = "PassEnvironment=P\nEnvironment=A=1 B=2\nUnsetEnvironment=A B=3\nExecStart=/bin/x $P x${A} ${B}"
    words = launch(tmp_path, service).words[1:]
    assert [(word.text, word.known) for word in words] == [("$P", False), ("x", True), ("2", True)]


def test_of_several_commands_the_last_one_counts(tmp_path: Path) -> None:
    read = launch(tmp_path, "Type=oneshot\nExecStart=/bin/a ; /bin/b\nExecStart=/bin/c x ; /bin/d y")
    assert [word.text for word in read.words] == ["/bin/d", "y"]
    assert read.faults == ()
