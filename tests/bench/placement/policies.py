"""The policies that are compared: what is in slurm.conf and railhead.toml, and what is added to each job."""

import dataclasses
import itertools

from fabric import hostlist
from mix import LIMIT_STRETCH
from rig import Nodes

SCHEDULER = "bf_interval=1,sched_interval=2,max_switch_wait=1000000,bf_max_job_test=1000,default_queue_depth=1000"


@dataclasses.dataclass(frozen=True)
class Policy:
    """Without `railhead`, `wait_s`, `price`, `below` and `alternatives` act on what is submitted, as a Lua script would."""

    name: str
    wait_s: int | None = None  # --switches=<least>@wait on every job of two nodes and more
    price: float = 0  # waits price x true slowdown x time limit longer
    set_aside: int = 0  # leaves with the feature "small"
    below: int = 0  # jobs of fewer nodes prefer them; 0 with railhead: those smaller than a leaf
    alternatives: int = 0  # --constraint=[leaf1|leaf2|…] instead of --switches on one-leaf jobs of so many nodes and more
    alone: int = 0  # --exclusive=topo for jobs of so many nodes and more: nobody else on their leaves (the simulator only)
    railhead: bool = False
    below_leaf: float = 1  # how many times the price jobs smaller than a leaf wait
    misprice: float = 1  # what Railhead takes for the slowdown, over the true one
    least_s: int = 0  # its wait_least
    small_wait_s: int = 0  # what jobs smaller than a leaf wait instead, by a [[rule]]; 0: as the others


FOREVER_S = 1_000_000
POLICIES = {policy.name: policy for policy in [
    Policy("stock"),
    Policy("switches", wait_s=FOREVER_S),
    Policy("railhead", railhead=True, below_leaf=4),
    Policy("railhead-set-aside", railhead=True, set_aside=8),
    Policy("railhead-half-price", railhead=True, set_aside=8, misprice=0.5),
    Policy("railhead-double-price", railhead=True, set_aside=8, misprice=2),
    Policy("railhead-small", railhead=True, small_wait_s=3600),
    Policy("railhead-strict", railhead=True, set_aside=8, least_s=3600),  # longer than any run: waits as --switches does
]}


def find_policy(name):
    """A policy by its name; "try:wait_s=20,set_aside=4,below=8" is one made up of levers.  ValueError if there is none."""
    if name in POLICIES:
        return POLICIES[name]
    kinds = {field.name: field.type for field in dataclasses.fields(Policy)}
    levers = dict(pair.partition("=")[::2] for pair in name.removeprefix("try:").split(","))
    if not name.startswith("try:") or set(levers) - set(kinds):
        raise ValueError(f"no policy {name!r}: there are {', '.join(POLICIES)} and try:LEVER=NUMBER,... of {', '.join(kinds)}")
    return Policy(name, **{lever: float(value) if kinds[lever] is float else int(value) for lever, value in levers.items()})


def railhead_toml(site, policy, slowdown):
    """The policy file, told the true slowdown of the run; limits are stretched, so the share is divided by as much."""
    lines = ['mode = "enforce"', 'notes = "never"', "", "[placement]",
             f"slowdown = {slowdown * policy.misprice / LIMIT_STRETCH:.6f}", f"wait_least = {policy.least_s}", 'wait_most = "1h"', f"below_leaf = {policy.below_leaf:g}"]
    if policy.set_aside and policy.below:
        lines += ["", "[[rule]]", 'name = "small jobs"', f"match = {{ max_gpus = {8 * (policy.below - 1)} }}",
                  'placement.set_aside = "small"']
    elif policy.set_aside:
        lines.append('set_aside = "small"')
    if policy.small_wait_s and slowdown:
        lines += ["", "[[rule]]", 'name = "below a leaf"', f"match = {{ max_gpus = {8 * (site.fabric.leaf_size - 1)} }}",
                  f"placement.wait = {policy.small_wait_s}"]
    return "\n".join(lines) + "\n"


def node_groups(site, policy):
    """Runs of nodes with equal features, for the rig."""
    def features(node):
        named = [name for name, nodes in (("fast", site.fast), ("small", site.small)) if node in nodes]
        return ",".join([*named, *([f"leaf{node // site.fabric.leaf_size + 1}"] if policy.alternatives else [])])
    runs = itertools.groupby(range(site.fabric.nodes), key=features)
    return [Nodes(len(list(run)), features=text) for text, run in runs]


def partitions(site):
    return ("PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n"
            f"PartitionName=half Nodes={hostlist(site.fabric, site.half)} MaxTime=INFINITE State=UP")


def prefers(site, policy, job):
    """Whether the policy sends the job to the set-aside leaves first, and they can hold it."""
    below = policy.below or (site.fabric.leaf_size if policy.railhead else 0)
    kind = site.kinds[job.kind]
    return job.nodes < below and job.kind not in ("held", "named") and len(kind.usable & site.small) >= job.nodes


def wait_s(site, policy, job, slowdown):
    """How long the job waits for its least leaves, in whole seconds; 0 where the policy asks for none."""
    if job.nodes < 2 or (policy.railhead and slowdown == 0):
        return 0
    if policy.small_wait_s and job.nodes < site.fabric.leaf_size:
        return policy.small_wait_s
    limit_s = job.limit_min * 60 / LIMIT_STRETCH
    if policy.railhead:
        times = policy.below_leaf if job.nodes < site.fabric.leaf_size else 1
        return max(round(times * slowdown * policy.misprice * limit_s), policy.least_s)
    return (policy.wait_s or 0) + round(policy.price * slowdown * limit_s)


def leaf_alternatives(site, policy, job):
    """The leaves that could hold the job whole; none where the lever does not apply."""
    kind = site.kinds[job.kind]
    if not policy.alternatives or job.nodes < policy.alternatives or job.kind not in ("plain", "half"):
        return []
    return [leaf for leaf in range(site.fabric.leaves) if len(site.fabric.on_leaves(leaf) & kind.usable) >= job.nodes]


def options(site, policy, job, slowdown):
    """The job's own options, and what the policy has users (or a Lua script) add."""
    own = site.options(job)
    if policy.railhead or not site.kinds[job.kind].usable:
        return own
    if leaves := leaf_alternatives(site, policy, job):
        return [*own, "-C", f"[{'|'.join(f'leaf{leaf + 1}' for leaf in leaves)}]"]
    if policy.wait_s is not None and job.nodes > 1:
        wait = wait_s(site, policy, job, slowdown)
        own.append(f"--switches={site.minimal_span(job)}@{wait // 60}:{wait % 60:02}")
    if prefers(site, policy, job):
        own.append("--prefer=" + ("fast&small" if job.kind == "fast" else "small"))
    return own
