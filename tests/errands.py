"""What tests have nodes do, importable there (PYTHONPATH), and a submitting process that can be killed: `python -m errands`."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from layoutrand.cluster.open import opened
from layoutrand.engines.known.slurm import Slurm, SlurmMeasure
from layoutrand.host.facts import node_name

HERE = str(Path(__file__).parent)


@dataclass(frozen=True)
class Errand:
    """Write the node's name at the end of ``log``, and return it once the file ``gate`` is there."""

    token: str
    log: str
    gate: str


def run_errand(errand: Errand) -> str:
    """Do it; one write, so that lines of several nodes stay whole."""
    with open(errand.log, "a") as file:
        file.write(f"{errand.token} {node_name()}\n")
    while not os.path.exists(errand.gate):
        time.sleep(0.02)
    return node_name()


def main(shared: str, log: str, gate: str, *tokens: str) -> None:
    """Have Slurm do one errand for each token, and print where each was done; a file tells that all are asked for."""
    settings = Slurm(kind="slurm", shared=shared, measure=SlurmMeasure(minutes=5))
    with opened(settings, Path(shared), "measure") as executor:
        futures = [executor.submit(run_errand, Errand(token, log, gate)) for token in tokens]
        Path(f"{log}.asked").touch()
        for future in futures:
            print(future.result())


if __name__ == "__main__":
    main(*sys.argv[1:])
