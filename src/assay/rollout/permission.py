"""Where a deployment says that assay may change something; a file that does not say so forbids it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.errors import Refused

if TYPE_CHECKING:
    from assay.deployment import Deployment, Live


def check_permission(deployment: Deployment) -> Live:
    """Where the deployment runs, if its file lets assay change the service there.

    `drained` is taken at its word: with or without hooks that see to it.

    Raises:
        Refused: it does not.
    """
    live, trials, path = deployment.live, deployment.trials, deployment.file.path
    if live is None:
        raise Refused(
            f"{path} does not say where the deployment runs",
            hint="write [live] with unit and host, as `assay describe` does",
        )
    if trials.where in ("in_place", "drained"):
        return live
    if trials.where == "spare" and live.host is not None and live.host in trials.hosts:
        return live
    where = f'where = "{trials.where}"' + (" names other hosts" if trials.where == "spare" else "")
    raise Refused(
        f"{path} does not let assay change {live.unit} on {live.host or 'this machine'}: {where}",
        hint='a restart stops the service for minutes; if that may be, write [trials] where = "in_place"',
    )
