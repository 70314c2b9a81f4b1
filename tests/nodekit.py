"""Results of several nodes, made up."""

from __future__ import annotations

import math

import numpy as np

NODES = {seed: f"n{seed % 4}" for seed in range(1, 25)}


SLOW = {"n0": 1.0, "n1": 1.0, "n2": 1.0, "n3": 1.1}


FACTS = {
    "hostname": "x",
    "machine": "x86_64",
    "cpu_model": "CPU",
    "cpus": 8,
    "kernel": "Linux 6.1",
    "governor": "performance",
    "turbo": False,
    "smt": False,
    "transparent_hugepages": "never",
    "memory_bytes": 2**34,
    "aslr": 2,
}


def one_system(seed, *, layout=0.02, noise=0.002, nodes=NODES, factors=SLOW, ratio=1.0, layouts=None):
    """Measurements of stock and of each seed's layout, in which nodes have these factors."""
    rng = np.random.default_rng(seed)
    effect = layouts or {each: rng.normal(0, layout) for each in nodes}

    def value(shift, each):
        return ratio * factors[nodes[each]] * math.exp(shift + rng.normal(0, noise))

    return {
        "seed": {each: value(effect[each], each) for each in nodes},
        "stock": {each: value(0.01, each) for each in nodes},
    }
