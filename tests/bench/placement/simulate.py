"""The placement bench without a controller: seconds instead of minutes, so that levers can be tried on many seeds.

    python3 tests/bench/placement/simulate.py --seeds 30 --policy stock --policy try:wait_s=0,price=1 --out simulated.jsonl
    python3 tests/bench/placement/summary.py simulated.jsonl

It plays the bench's jobs against backfill as Slurm 22.05 does it, as far as placement needs it: once a second the
queue is gone through in order; a job that can start now does, any other is planned at the first time at which time
limits give it enough nodes, and what comes after may not be in its way.  topology/tree takes the fullest leaf that
holds the job, else the emptiest ones first.  A job that waits for its switches keeps no nodes, and its clock runs from
the submission.  What it says has to hold on the real controller before it counts.
"""

import argparse
import dataclasses
import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "slurm"))

import bench  # noqa: E402
import mix  # noqa: E402
import policies  # noqa: E402
from play import Fate  # noqa: E402

TICK_S = 1
MOST_S = 1000


def mask_of(nodes):
    """A set of nodes as bits."""
    return sum(1 << node for node in nodes)


def lowest(mask, count):
    """The `count` lowest bits of a mask."""
    taken = 0
    for _ in range(count):
        bit = mask & -mask
        taken |= bit
        mask ^= bit
    return taken


class Leaves:
    """The fabric in bits."""

    def __init__(self, fabric):
        self.masks = [mask_of(fabric.on_leaves(leaf)) for leaf in range(fabric.leaves)]

    def span(self, nodes):
        return sum(1 for leaf in self.masks if leaf & nodes)

    def choose(self, free, count, needed=0):
        """`count` of the free nodes as topology/tree takes them; `needed` and their leaves come first."""
        taken, free = needed, free & ~needed
        first = [leaf for leaf in self.masks if leaf & needed]
        count -= needed.bit_count()
        while count > 0:
            leaf = first.pop() if first else min((leaf for leaf in self.masks if leaf & free), key=lambda leaf: (
                (free & leaf).bit_count() < count, abs((free & leaf).bit_count() - count)))
            part = lowest(free & leaf, min(count, (free & leaf).bit_count()))
            taken, free, count = taken | part, free & ~part, count - part.bit_count()
        return taken


@dataclasses.dataclass
class Held:
    """Nodes that are taken from one time to another, as far as backfill knows: a running job, or a planned one."""

    begin_s: float
    limit_s: float  # when the time limit ends it
    nodes: int
    end_s: float = 0  # when it really ends


class Simulation:
    """One run."""

    def __init__(self, site, policy, slowdown):
        self.site, self.policy, self.slowdown = site, policy, slowdown
        self.leaves = Leaves(site.fabric)
        self.usable = {name: mask_of(kind.usable) for name, kind in site.kinds.items()}
        self.small = mask_of(site.small)
        self.running, self.planned = [], []

    def play(self, jobs):
        """The fate of each job; ends as the real player does, when all that are measured have started."""
        fates = [Fate(job, submit_s=job.arrival_s) for job in sorted(jobs, key=lambda job: job.arrival_s)]
        coming = []
        for fate in fates:
            if self.site.kinds[fate.job.kind].usable:
                fate.id, fate.minimal = fate.job.index, self.site.minimal_span(fate.job)
                coming.append(fate)
            else:
                fate.error = "refused"
        queue, now = [], TICK_S / 2
        while any(fate.job.measured for fate in [*queue, *coming]) and now < MOST_S:
            queue += [fate for fate in coming if fate.submit_s <= now]
            coming = [fate for fate in coming if fate.submit_s > now]
            self.running = [held for held in self.running if held.end_s > now]
            self.planned = []
            queue = [fate for fate in queue if not self._try(fate, now)]
            now += TICK_S
        return fates

    def _free(self, begin_s, end_s):
        """The nodes that backfill takes to be free all the time from begin to end."""
        taken = 0
        for held in self.running:
            if held.limit_s > begin_s:
                taken |= held.nodes
        for held in self.planned:
            if held.begin_s < end_s and held.limit_s > begin_s:
                taken |= held.nodes
        return ~taken

    def _try(self, fate, now):
        """Starts the job, or plans it; says whether it started."""
        limit_s = fate.job.limit_min * 60
        times = sorted({held.limit_s for held in [*self.running, *self.planned] if held.limit_s > now})
        for begin_s in [now, *times]:
            nodes = self._nodes(fate.job, self._free(begin_s, begin_s + limit_s), begin_s == now)
            if nodes is None:
                continue
            if begin_s > now:
                self.planned.append(Held(begin_s, begin_s + limit_s, nodes))
                return False
            return self._start(fate, nodes, now)
        return False

    def _nodes(self, job, free, at_once):
        """Where the job would go, or None."""
        free &= self.usable[job.kind]
        needed = mask_of(job.needed)
        if needed & ~free:
            return None
        for leaf in policies.leaf_alternatives(self.site, self.policy, job):
            here = free & self.leaves.masks[leaf]
            if here.bit_count() >= job.nodes:
                return self.leaves.choose(here, job.nodes)
        if policies.leaf_alternatives(self.site, self.policy, job):
            return None
        if at_once and policies.prefers(self.site, self.policy, job) and (free & self.small).bit_count() >= job.nodes:
            return self.leaves.choose(free & self.small, job.nodes)
        return self.leaves.choose(free, job.nodes, needed) if free.bit_count() >= job.nodes else None

    def _start(self, fate, nodes, now):
        job, span = fate.job, self.leaves.span(nodes)
        if span > fate.minimal and now - fate.submit_s < policies.wait_s(self.site, self.policy, job, self.slowdown):
            return False
        run_s = job.run_s * (1 + self.slowdown * (span > fate.minimal))
        fate.start_s, fate.end_s, fate.span = now, now + run_s, span
        self.running.append(Held(now, now + max(job.limit_min * 60, run_s), nodes, now + run_s))
        return True


def simulate(run):
    """The result of a run, in the form of the bench's."""
    policy = policies.find_policy(run.policy)
    site = mix.default_site(policy.set_aside)
    fates = Simulation(site, policy, run.slowdown).play(bench.make_jobs(run, site))
    return {**dataclasses.asdict(run), "slurm": "simulated",
            "jobs": [bench.fate_row(fate) for fate in fates if fate.job.measured]}


def main():
    parser = argparse.ArgumentParser(prog="simulate.py", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="file of results, JSON lines")
    parser.add_argument("--policy", action="append", required=True, metavar="NAME")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--loads", type=bench.listed(float), default=[1.1])
    parser.add_argument("--slowdowns", type=bench.listed(float), default=[0.1])
    parser.add_argument("--mixes", type=bench.listed(str), default=["synthetic"])
    arguments = parser.parse_args()
    part = bench.Part(arguments.mixes, arguments.policy, arguments.slowdowns, arguments.loads, arguments.seeds)
    done = {bench.result_key(result) for result in bench.read_results(arguments.out)}
    with open(arguments.out, "a") as file:
        for run in bench.runs_of(part):
            if run.key not in done:
                file.write(json.dumps(simulate(run), separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
