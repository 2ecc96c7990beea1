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


@dataclasses.dataclass
class Waiting:
    """A job in the queue, and what does not change while it waits."""

    fate: Fate
    usable: int
    needed: int
    preferred: int  # 0: none
    alternatives: list  # leaves, as masks
    wait_s: float

    @property
    def limit_s(self):
        return self.fate.job.limit_min * 60


class Simulation:
    """One run."""

    def __init__(self, site, policy, slowdown):
        self.site, self.policy, self.slowdown = site, policy, slowdown
        self.leaves = Leaves(site.fabric)
        self.usable = {name: mask_of(kind.usable) for name, kind in site.kinds.items()}
        self.running = []
        self.planned = []  # of this tick: what is to start later, and what has just started
        self.free = []  # (time, the nodes free from then on but for the planned ones) at which the running jobs' limits end

    def play(self, jobs):
        """The fate of each job; ends as the real player does, when all that are measured have started."""
        fates = [Fate(job, submit_s=job.arrival_s) for job in sorted(jobs, key=lambda job: job.arrival_s)]
        coming = [self._admit(fate) for fate in fates if self.site.kinds[fate.job.kind].usable]  # the others are refused
        queue, now = [], TICK_S / 2
        while any(waiting.fate.job.measured for waiting in [*queue, *coming]) and now < MOST_S:
            queue += [waiting for waiting in coming if waiting.fate.submit_s <= now]
            coming = [waiting for waiting in coming if waiting.fate.submit_s > now]
            self._begin_tick(now)
            queue = [waiting for waiting in queue if not self._try(waiting, now)]
            now += TICK_S
        return fates

    def _admit(self, fate):
        site, policy, job = self.site, self.policy, fate.job
        fate.id, fate.minimal = job.index, site.minimal_span(job)
        return Waiting(fate, self.usable[job.kind], mask_of(job.needed),
                       mask_of(site.small) if policies.prefers(site, policy, job) else 0,
                       [self.leaves.masks[leaf] for leaf in policies.leaf_alternatives(site, policy, job)],
                       policies.wait_s(site, policy, job, self.slowdown))

    def _begin_tick(self, now):
        self.running = sorted((held for held in self.running if held.end_s > now), key=lambda held: held.limit_s)
        self.planned = []
        free = ~sum(held.nodes for held in self.running)
        steps = {now: free}
        for held in self.running:
            free |= held.nodes
            steps[held.limit_s] = free
        self.free = list(steps.items())

    def _times(self):
        """(time, nodes that no running job holds then) at which something changes, in order."""
        steps = list(self.free)
        for held in self.planned:
            free = next(free for time, free in reversed(self.free) if time <= held.limit_s)
            steps.append((held.limit_s, free))
        return sorted(steps, key=lambda step: step[0])

    def _try(self, waiting, now):
        """Starts the job, or plans it; says whether it started."""
        for begin_s, free in self._times():
            for held in self.planned:
                if held.begin_s < begin_s + waiting.limit_s and held.limit_s > begin_s:
                    free &= ~held.nodes
            nodes = self._nodes(waiting, free & waiting.usable, free, begin_s == now)
            if nodes is None:
                continue
            if begin_s == now:
                return self._start(waiting, nodes, now)
            self.planned.append(Held(begin_s, begin_s + waiting.limit_s, self._taken(waiting, nodes)))
            return False
        return False

    def _alone(self, count):
        return 0 < self.policy.alone <= count

    def _taken(self, waiting, nodes):
        """What others may not have while it runs."""
        if not self._alone(waiting.fate.job.nodes):
            return nodes
        return sum(leaf for leaf in self.leaves.masks if leaf & nodes)

    def _nodes(self, waiting, free, everything, at_once):
        """Where the job would go, or None; `free` are those of `everything` free that it may use."""
        count = waiting.fate.job.nodes
        if self._alone(count):
            free &= sum(leaf for leaf in self.leaves.masks if not leaf & ~everything)
        if free.bit_count() < count or waiting.needed & ~free:
            return None
        if waiting.alternatives:
            here = next((free & leaf for leaf in waiting.alternatives if (free & leaf).bit_count() >= count), None)
            return here and self.leaves.choose(here, count)
        if at_once and (free & waiting.preferred).bit_count() >= count:
            return self.leaves.choose(free & waiting.preferred, count)
        return self.leaves.choose(free, count, waiting.needed)

    def _start(self, waiting, nodes, now):
        fate, job, span = waiting.fate, waiting.fate.job, self.leaves.span(nodes)
        if span > fate.minimal and now - fate.submit_s < waiting.wait_s:
            return False
        run_s = job.run_s * (1 + self.slowdown * (span > fate.minimal))
        fate.start_s, fate.end_s, fate.span = now, now + run_s, span
        held = Held(now, now + max(waiting.limit_s, run_s), self._taken(waiting, nodes), now + run_s)
        self.running.append(held)
        self.planned.append(held)
        return True


def simulate(run):
    """The result of a run, in the form of the bench's."""
    policy = policies.find_policy(run.policy)
    site = mix.default_site(policy.set_aside, run.leaves)
    fates = Simulation(site, policy, run.slowdown).play(bench.make_jobs(run, site))
    return {**dataclasses.asdict(run), "slurm": "simulated",
            "jobs": [bench.fate_row(fate) for fate in fates if fate.job.measured]}


def main():
    parser = argparse.ArgumentParser(prog="simulate.py", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="file of results, JSON lines")
    parser.add_argument("--policy", action="append", required=True, type=bench.policy_name, metavar="NAME")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--loads", type=bench.listed(float), default=[1.1])
    parser.add_argument("--slowdowns", type=bench.listed(float), default=[0.1])
    parser.add_argument("--mixes", type=bench.listed(str), default=["synthetic"])
    parser.add_argument("--leaves", type=int, default=bench.Run.leaves, help="leaves of 16 nodes")
    arguments = parser.parse_args()
    part = bench.Part(arguments.mixes, arguments.policy, arguments.slowdowns, arguments.loads, arguments.seeds,
                      leaves=arguments.leaves)
    done = {bench.result_key(result) for result in bench.read_results(arguments.out)}
    with open(arguments.out, "a") as file:
        for run in bench.runs_of(part):
            if run.key not in done:
                file.write(json.dumps(simulate(run), separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
