"""Job mixes: who submits what, when, and for how long it runs.  The same seed gives the same jobs.

Times are seconds of the bench, in which a job takes about 20 s.  Time limits are minutes of Slurm, so they are stretched
by LIMIT_STRETCH beside the run times, and the slowdown that Railhead is given is divided by it: the product, which is
the wait, stays right.
"""

import csv
import dataclasses
import math
import random
from pathlib import Path

from fabric import Fabric

LIMIT_STRETCH = 4
MEAN_S, LEAST_S, MOST_S = 20, 4, 60
BEYOND = 1.4  # arrivals go on for so many windows

# Nodes of a job and its share of the jobs: half are small, and sizes that do not tile a leaf of 16 are among them.
SIZES = {1: 40, 2: 14, 3: 4, 4: 12, 6: 4, 8: 10, 12: 4, 16: 6, 24: 2, 32: 3, 48: 1}


@dataclasses.dataclass(frozen=True)
class Job:
    index: int
    arrival_s: float
    nodes: int
    run_s: float  # on its minimal span
    limit_min: int  # what the user writes: 1.2 to 3 times the run time, stretched
    kind: str = "plain"  # a key of Site.kinds
    needed: frozenset = frozenset()  # nodes of -w
    measured: bool = True  # False: there to fill the cluster beforehand


@dataclasses.dataclass(frozen=True)
class Kind:
    """Jobs that may not use the whole cluster."""

    options: tuple
    usable: frozenset
    share: float
    most_nodes: int


class Site:
    """What differs between nodes: features, a second partition, a reservation, leaves set aside for small jobs.

    fast      -C: leaves 2 to 13
    half      -p: leaves 8 to 15
    held      --reservation: half of each of the last two leaves
    named     -w: one node by name
    """

    def __init__(self, fabric, set_aside=0):
        self.fabric = fabric
        every, last = fabric.on_leaves(*range(fabric.leaves)), fabric.leaves - 1
        self.fast = fabric.on_leaves(*range(2, last - 1))
        self.half = fabric.on_leaves(*range(fabric.leaves // 2, fabric.leaves))
        tail = fabric.on_leaves(last - 1, last)
        self.held = frozenset(node for node in tail if node % fabric.leaf_size >= fabric.leaf_size // 2)
        self.small = fabric.on_leaves(*range(fabric.leaves - set_aside, fabric.leaves))
        free = every - self.held
        self.kinds = {
            "plain": Kind((), free, 0.66, 48),
            "fast": Kind(("-C", "fast"), self.fast & free, 0.12, 32),
            "half": Kind(("-p", "half"), self.half & free, 0.12, 32),
            "held": Kind(("--reservation=held",), self.held, 0.05, 12),
            "named": Kind((), free, 0.03, 8),
            # Refused by Slurm, and so by every policy.
            "unknown": Kind(("-C", "nosuchfeature"), frozenset(), 0.01, 8),
            "greedy": Kind(("--gres=gpu:16",), frozenset(), 0.01, 8),
        }

    def options(self, job):
        """What the user writes, as options of sbatch; the last of two counts."""
        options = ["--gres=gpu:8", "--exclusive", *self.kinds[job.kind].options, f"-t{job.limit_min}"]
        if job.needed:
            options += ["-w", ",".join(self.fabric.name(node) for node in sorted(job.needed))]
        return [*options, f"-N{job.nodes}"]

    def minimal_span(self, job):
        kind = self.kinds[job.kind]
        return self.fabric.minimal_span(job.nodes, kind.usable, job.needed) if kind.usable else 0


def _run_s(draw):
    """Log-normal, the spread of training jobs cut to what a short bench can hold."""
    sigma = 0.8
    return min(max(draw.lognormvariate(math.log(MEAN_S) - sigma**2 / 2, sigma), LEAST_S), MOST_S)


def _job(draw, site, index, nodes, run_s, **more):
    name = draw.choices(list(site.kinds), [kind.share for kind in site.kinds.values()])[0]
    kind = site.kinds[name]
    if nodes > kind.most_nodes:
        name, kind = "plain", site.kinds["plain"]
    needed = frozenset(draw.sample(sorted(kind.usable), 1)) if name == "named" else frozenset()
    limit_min = max(1, round(run_s * draw.uniform(1.2, 3) * LIMIT_STRETCH / 60))
    return Job(index, 0, nodes, run_s, limit_min, name, needed, **more)


def _fill(draw, site, first):
    """Jobs at time 0 that fill the cluster; each is some way through its run."""
    jobs, taken = [], 0
    plain = site.kinds["plain"]
    while taken < len(plain.usable):
        nodes = min(draw.choices(list(SIZES), SIZES.values())[0], len(plain.usable) - taken)
        run_s = max(_run_s(draw) * draw.random(), 1)
        jobs.append(Job(first + len(jobs), 0, nodes, run_s, max(1, round(run_s * 2 * LIMIT_STRETCH / 60)), measured=False))
        taken += nodes
    return jobs


def _until(jobs, work):
    """The first jobs of an endless list that are `work` node-seconds together."""
    taken = []
    for job in jobs:
        if work <= 0:
            return taken
        taken.append(job)
        work -= job.nodes * job.run_s
    raise ValueError("the trace has too few jobs for this load and window")


def _arrange(draw, site, jobs, marks, window_s):
    """The jobs that fill the cluster, then `jobs` spread over the window and beyond by `marks`, 0 to 1 and rising.

    What comes after the window is not measured: it keeps the pressure up while the last measured jobs wait.
    """
    arrivals = [mark * window_s * BEYOND for mark in marks]
    return _fill(draw, site, len(jobs)) + [dataclasses.replace(job, arrival_s=arrival, measured=arrival <= window_s)
                                           for job, arrival in zip(jobs, arrivals)]


def synthetic(site, seed, load, window_s):
    """Poisson arrivals, SIZES, log-normal run times; `load` times the work that the cluster can do in the window."""
    draw = random.Random(f"synthetic {seed}")

    def endless():
        index = 0
        while True:
            yield _job(draw, site, index, draw.choices(list(SIZES), SIZES.values())[0], _run_s(draw))
            index += 1
    jobs = _until(endless(), load * window_s * BEYOND * site.fabric.nodes)
    return _arrange(draw, site, jobs, sorted(draw.random() for _ in jobs), window_s)


def traces_folder(checkout):
    """shared/traces beside the checkout, or None."""
    folder = Path(checkout).resolve().parent / "shared" / "traces"
    return folder if (folder / "philly_gavel_vc_jobs.csv").is_file() else None


def _column(path, *names):
    with open(path, newline="") as file:
        return [tuple(float(row[name]) for name in names) for row in csv.DictReader(file)]


def philly(site, seed, load, window_s, folder):
    """Arrivals and sizes of successive jobs of the trace, all virtual clusters together; run times of Philly.

    One of Philly's GPUs is a node here.  The run times reach from seconds to weeks: they are scaled to a mean like the
    synthetic mix's and cut to LEAST_S and MOST_S.
    """
    draw = random.Random(f"philly {seed}")
    rows = sorted(_column(folder / "philly_gavel_vc_jobs.csv", "arrival_s", "gpus"))
    times = sorted(time for (time,) in _column(folder / "philly_runtime_seconds.csv", "runtime"))
    scale = 12 / times[len(times) // 2]
    rows = rows[draw.randrange(len(rows) // 2):]
    endless = (_job(draw, site, index, min(int(gpus), 48), min(max(draw.choice(times) * scale, LEAST_S), MOST_S))
               for index, (_, gpus) in enumerate(rows))
    jobs = _until(endless, load * window_s * BEYOND * site.fabric.nodes)
    arrivals = [arrival for arrival, _ in rows[:len(jobs)]]
    length = arrivals[-1] - arrivals[0]
    return _arrange(draw, site, jobs, [(arrival - arrivals[0]) / length for arrival in arrivals], window_s)


def default_site(set_aside=0, leaves=Fabric.leaves):
    return Site(Fabric(leaves), set_aside)
