"""The golden deployments take the branches of the engine's handlers, and assay says what the engine says."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from tests.flow.coverage import Coverage, watching
from tests.flow.oracle import Score, engine_source, golden, score

pytestmark = [pytest.mark.registry, pytest.mark.timeout(400)]
VERSIONS = ("0.5.9", "0.5.10", "0.5.12.post1")
BAR = 0.80
MOST_OPEN = 15
# Where assay is not yet right, by option of the deployment; whoever mends one takes it out.
KNOWN = {
    "--decrypted-config-file": "that file does not exist; assay reads the model's own",
    "--remote-instance-weight-loader": "0.5.9: find_spec('mooncake.engine') raises without mooncake",
    "b/whisper": "0.5.12: WhisperConfig has num_hidden_layers; assay's table of config classes lacks it",
    "b/exaone4-full": "what Exaone4Config makes of a sliding_window that is null (0.5.12)",
}


@pytest.fixture(scope="module", params=VERSIONS)
def covered(
    request: pytest.FixtureRequest, engine_tree: Callable[[str], Path]
) -> tuple[str, Coverage, Score]:
    source = engine_source(engine_tree(request.param))
    with watching(source) as coverage:
        score(f"sglang-{request.param}", source)
        found = score(f"branches-{request.param}", source)
    return request.param, coverage, found


def test_the_deployments_take_the_branches_of_the_handlers(
    covered: tuple[str, Coverage, Score], capsys: pytest.CaptureFixture[str]
) -> None:
    version, coverage, _ = covered
    with capsys.disabled():
        print(  # noqa: T201
            f"\nsglang {version}: {len(coverage.taken)} of {len(coverage.branches)} branches of the handlers "
            f"taken by the oracle's deployments ({coverage.share:.1%})"
        )
    print("never taken:", *coverage.missed, sep="\n  ")  # noqa: T201 (shown by -rP, and on a failure)
    assert coverage.share >= BAR


def test_resolution_is_that_of_the_engine_on_rare_branches_too(covered: tuple[str, Coverage, Score]) -> None:
    version, _, found = covered
    assert len(golden(f"branches-{version}")["answers"]) >= 400
    assert not _news(found.wrong), "\n".join(_news(found.wrong)[:20])
    assert found.certain >= 0.85, found.unknown.most_common(20)
    # files of the host (certificates, InfiniBand, `--config`) are no facts: open there, and said so
    wrong = _news(line for line in found.outcomes if "assay ('unknown'" not in line)
    assert not wrong, "\n".join(wrong[:20])
    assert len(found.outcomes) <= MOST_OPEN, "\n".join(found.outcomes)
    assert not _news(found.lines), "\n".join(_news(found.lines))


def _news(lines: Iterable[str]) -> list[str]:
    return [line for line in lines if not any(name in line for name in KNOWN)]
