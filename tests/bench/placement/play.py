"""Plays one job list against one real slurmctld, and tells when and where each job ran.

Nodes exist in slurmctld only: a job that has nodes is "configuring" until it is cancelled.  So the player is what ends
jobs: it reads in slurmctld's log which have started and where, works out how long each runs on those leaves, and
cancels it when it is done.  Reading the log costs slurmctld nothing, whatever the number of jobs.
"""

import dataclasses
import heapq
import re
import time

import policies
from fabric import hostlist, parse_hostlist
from rig import Rig, RigError

LOOK_S = 0.05
# The main scheduler's line and backfill's; the same from Slurm 22.05 to 26.05.
STARTED = re.compile(r"(?:Allocate JobId=(\d+) NodeList=|Started JobId=(\d+) in \S+ on )(\S+)")
TAIL_S = 300  # a job that has not started so long after the last arrival


@dataclasses.dataclass
class Fate:
    """What became of a job; times in seconds of the run."""

    job: object
    id: int | None = None  # None: refused
    submit_s: float = 0
    start_s: float | None = None
    end_s: float | None = None
    span: int = 0
    minimal: int = 0
    error: str = ""

    @property
    def excess(self):
        return self.span - self.minimal

    @property
    def wait_s(self):
        return self.start_s - self.submit_s


def make_rig(site, policy, slowdown, plugins):
    """A cluster of cloud nodes, as `policy` has it."""
    railhead = {"plugins": plugins, "job_submit": True, "policy": policies.railhead_toml(site, policy, slowdown)}
    return Rig(policies.node_groups(site, policy), cloud=True, leaves=site.fabric.leaves, partitions=policies.partitions(site),
               scheduler=policies.SCHEDULER, extra="SlurmctldDebug=info\nMinJobAge=10",
               **(railhead if policy.railhead else {}))


def is_fill(job):
    """Whether the job is there before the clock starts; the first of a trace also arrives at 0, and is not."""
    return job.arrival_s == 0 and not job.measured


class Player:
    """One run; see the top of this file."""

    def __init__(self, rig, site, policy, slowdown):
        self.rig, self.site, self.policy, self.slowdown = rig, site, policy, slowdown
        self.waiting = {}  # id -> Fate, submitted and not yet started
        self.due = []  # heap of (end, id, Fate)
        self.fates = []
        self.log, self.unread = open(rig.logs / "slurmctld.log"), ""
        self.begun = 0
        self.late_s = 0  # the worst delay of a submission

    def now(self):
        return time.monotonic() - self.begun

    def prepare(self):
        """Wakes every node, so that none differs for the scheduler, and makes the reservation."""
        self.rig.run(["scontrol", "create", "reservation", "ReservationName=held", f"Users={self.rig.user}", "StartTime=now",
                      "Duration=infinite", f"Nodes={hostlist(self.site.fabric, self.site.held)}"], user="root")
        (self.rig.work / "job").write_text("#!/bin/sh\n")
        if self.policy.railhead and self.slowdown > 0:
            self._check_railhead()
        self.rig.run(["sbatch", f"-N{self.site.fabric.nodes - len(self.site.held)}", "job"])
        self.rig.run(["sbatch", f"-N{len(self.site.held)}", "--reservation=held", "job"])
        started = 0
        for _ in range(200):
            time.sleep(LOOK_S)
            started += len(list(self._started()))
            if started == 2:
                break
        else:
            raise RigError("the cluster does not fill")
        self.rig.run(["scancel", "-u", self.rig.user])

    def _check_railhead(self):
        """A policy that Railhead does not understand would pass every job unchanged, and be measured as stock."""
        job = self.rig.sbatch("#!/bin/sh\n", "--hold", "-N2", "--gres=gpu:8", "--exclusive", "-t60")
        if not self.rig.job_info(job).get("Switches", "").startswith("1@"):
            raise RigError(f"Railhead does not ask for one leaf:\n{self.rig.log('slurmctld')}")

    def _started(self):
        """(job, its nodes) of what has started since the last call."""
        self.unread += self.log.read()
        lines, newline, self.unread = self.unread.rpartition("\n")  # the last line may not be written to its end
        for found in STARTED.finditer(lines + newline):
            yield int(found[1] or found[2]), parse_hostlist(found[3])

    def play(self, jobs):
        """Returns the fate of each job that was submitted, as soon as all that are measured have started.

        From then on it is known when they end.
        """
        self.prepare()
        fill = [job for job in jobs if is_fill(job)]
        coming = sorted((job for job in jobs if not is_fill(job)), key=lambda job: job.arrival_s)
        last = coming[-1].arrival_s
        for job in fill:
            self._submit(job)
        self.begun = time.monotonic()
        left = sum(job.measured for job in jobs)
        while left:
            while coming and coming[0].arrival_s <= self.now():
                left -= self._submit(coming.pop(0))
            self._end_due()
            left -= self._look()
            if self.now() > last + TAIL_S:
                raise RigError(f"{left} jobs have not started {TAIL_S} s after the last arrival")
            time.sleep(LOOK_S)
        return self.fates

    def _submit(self, job):
        """Returns how many measured jobs were refused: 0 or 1."""
        if job.measured:
            self.late_s = max(self.late_s, self.now() - job.arrival_s)
        fate = Fate(job, submit_s=self.now())
        self.fates.append(fate)
        options = policies.options(self.site, self.policy, job, self.slowdown)
        result = self.rig.run(["sbatch", "--parsable", *options, "job"], check=False)
        if found := re.match(r"\d+", result.stdout):
            fate.id = int(found[0])
            fate.minimal = self.site.minimal_span(job)
            self.waiting[fate.id] = fate
        else:
            fate.error = result.stderr.strip().splitlines()[-1]
        return job.measured and fate.id is None

    def _look(self):
        """Returns how many measured jobs have started since the last look."""
        now, measured = self.now(), 0
        for id, nodes in self._started():
            fate = self.waiting.pop(id)
            self._start(fate, nodes, now)
            measured += fate.job.measured
        return measured

    def _start(self, fate, nodes, now):
        if len(nodes) != fate.job.nodes:
            raise RigError(f"job {fate.id} asked for {fate.job.nodes} nodes and got {len(nodes)}")
        fate.start_s = now
        fate.span = self.site.fabric.span(nodes)
        run_s = fate.job.run_s * (1 + self.slowdown * (fate.excess > 0))
        fate.end_s = now + run_s
        heapq.heappush(self.due, (fate.end_s, fate.id, fate))

    def _end_due(self):
        """Cancels what is done."""
        over = []
        while self.due and self.due[0][0] <= self.now():
            over.append(heapq.heappop(self.due)[2])
        if over:
            self.rig.run(["scancel", *[fate.id for fate in over]])
