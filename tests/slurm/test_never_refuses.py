"""Under enforce no job that stock Slurm accepts is refused, and none waits that stock would start.

Seeded random requests against partitions of every kind, each with Railhead off and on, on a
controller whose nodes exist only there.  A failing request is printed as an sbatch line.
"""

import os
import random

import pytest

from conftest import empty, railhead_rig
from keeper import wait_until
from rig import Nodes, slurm_version

REQUESTS = int(os.environ.get("RAILHEAD_REQUESTS", 400))
STARTS = int(os.environ.get("RAILHEAD_STARTS", 30))
SEED = int(os.environ.get("RAILHEAD_SEED", 20_260_901))

PARTITIONS = """
PartitionName=DEFAULT State=UP MaxTime=INFINITE
PartitionName=main Nodes=n[01-16,33-36] Default=YES
PartitionName=small Nodes=n[17-20]
PartitionName=mixed Nodes=n[01-08,21-24]
PartitionName=smt Nodes=n[25-28]
PartitionName=thin Nodes=n[29-32]
PartitionName=forced Nodes=n[01-08] OverSubscribe=FORCE:2
PartitionName=yes Nodes=n[01-08] OverSubscribe=YES:2
PartitionName=whole Nodes=n[01-08] OverSubscribe=EXCLUSIVE
PartitionName=maxnodes Nodes=n[01-08] MaxNodes=2
PartitionName=minnodes Nodes=n[01-08] MinNodes=3
PartitionName=maxcpus Nodes=n[01-08] MaxCPUsPerNode=32
PartitionName=mempercpu Nodes=n[01-08] DefMemPerCPU=20000
PartitionName=maxmem Nodes=n[01-08] DefMemPerCPU=4000 MaxMemPerNode=400000
PartitionName=maxmempercpu Nodes=n[01-08] MaxMemPerCPU=8000
PartitionName=mempernode Nodes=n[01-08] DefMemPerNode=600000
PartitionName=bygpu Nodes=n[01-08] DefCpuPerGPU=4 DefMemPerGPU=100000
PartitionName=low Nodes=n[01-16] PriorityTier=1 PreemptMode=REQUEUE
PartitionName=high Nodes=n[01-16] PriorityTier=10 PreemptMode=OFF
"""
NAMES = ["main"] * 6 + ["small", "mixed", "smt", "thin", "forced", "yes", "whole", "maxnodes", "minnodes", "maxcpus",
                        "mempercpu", "maxmem", "maxmempercpu", "mempernode", "bygpu", "low", "high", "main,low", "main,small"]
# Every rule at work (a cap of time limits, since refusing is not what is tested): a price, leaves set aside ("few": leaf 3, and half of leaf 5), lemons of every kind of node.
POLICY = 'mode = "enforce"\n[placement]\nslowdown = 0.1\nset_aside = "few"\n' \
    '[checkpoint]\nsignal = "USR1"\nundeclared = "cap"\ndeclare_above = 1\nundeclared_time = "3m"\n'
LEMONS = "n[02,06-07] never slow\nn18 9000-01-01 warm\nn[22,26,33,35] never odd\nn03 2001-01-01 was\nn99 never gone\n"
NODES = [
    Nodes(12, features="h100,fast"),
    Nodes(4, features="h100,fast,few"),
    Nodes(4, gpus=4, gpu_type="a100", features="a100"),
    Nodes(2, gpus=2, gpu_type="l40s", features="l40s"),
    Nodes(2, gpus=2, gpu_type="l40s", features="l40s,few"),
    Nodes(4, threads=2, cores=16, features="smt"),
    Nodes(4, sockets=1, cores=8, memory=64_000, features="thin"),
    Nodes(4, features="h100,fast"),  # in reservations
]
TOPOLOGY = "".join(f"SwitchName=s{leaf} Nodes=n[{4 * leaf + 1:02}-{4 * leaf + 4:02}]\n" for leaf in range(9)) + "SwitchName=top Switches=s[0-8]\n"
EXTRA = "PreemptType=preempt/partition_prio\nPreemptMode=REQUEUE\nEnforcePartLimits=ALL\n"
# Stock slurmctld 24.11.5 on topology/tree ends with a segmentation fault at "sbatch --gpus=16 --spread-job".
SPREAD = [] if (24, 11) <= slurm_version() < (25, 5) else ["--spread-job"]


def request(rng):
    """A line of sbatch options: now and then an odd one."""
    def maybe(chance, *options):
        return [rng.choice(options)] if rng.random() < chance else []
    gpus = rng.choice([1, 4, 8, 12, 16, 16, 24, 32, 64])
    line = ["-p", rng.choice(NAMES)]
    tasks = rng.choice([gpus, gpus, gpus // 8 or 1, 1, 2 * gpus])
    form = rng.randrange(6)
    kind = rng.choice(["", "", "", "h100:", "a100:"])
    if form == 0:
        line += [f"--gpus={kind}{gpus}"] + maybe(0.5, f"-n{tasks}")
    elif form == 1:
        line += [f"--gpus-per-task={kind}{rng.choice([1, 1, 2, 8])}", f"-n{max(1, gpus // rng.choice([1, 1, 2]))}"]
    elif form == 2:
        line += [f"--gres=gpu:{kind}{rng.choice([1, 4, 8, 8])}", f"-N{rng.choice(['1', '2', '3', '4', '2-4', '8'])}"]
    elif form == 3:
        line += [f"--gpus-per-node={kind}{rng.choice([4, 8])}", f"-n{gpus}", f"--ntasks-per-node={rng.choice([1, 4, 8])}"]
    elif form == 4:
        line += [f"--gpus={kind}{gpus}", f"--gpus-per-node={rng.choice([4, 8])}"]
    else:
        line += [f"-n{tasks}"] + maybe(0.5, "-N2")
    if form in (0, 3, 4) and rng.random() < 0.3:
        line += rng.choice([[f"--cpus-per-gpu={rng.choice([1, 4, 8, 16])}"], [f"--mem-per-gpu={rng.choice([1000, 100000, 200000])}"],
                            [f"--ntasks-per-gpu={rng.choice([1, 2])}"]])
    line += maybe(0.3, "-c2", "-c4", "-c8", "-c16", "-c3")
    line += maybe(0.3, "--mem=0", "--mem=100000", "--mem=900000", "--mem-per-cpu=1000", "--mem-per-cpu=15000", "--mem-per-cpu=30000")
    line += maybe(0.1, "--exclusive", "--oversubscribe", "--exclusive=user")
    line += maybe(0.15, "-C fast", "-C h100&fast", "-C h100|a100", "-C [h100*1&a100*1]", "-C smt", "-C few", "-C fast&few", "-C nosuch",
                  "-C (h100&few)", "-C l40s")
    line += maybe(0.05, "--prefer=few", "--prefer=a100", "--prefer=h100&few", "--prefer=nosuch")
    line += maybe(0.1, "-x n[01-04]", "-x n01,n05,n09", "-x n[01-15]", "-x n02", "-x n[13-15]", "-x n[13-16]")
    line += maybe(0.05, "-w n01,n05", "-w n[01-02]", "-w n13", "-w n02,n06")
    line += maybe(0.15, "--reservation=some", "--reservation=cores")
    line += maybe(0.15, "--switches=1", "--contiguous", *SPREAD, "--use-min-nodes", "--overcommit", "--hint=nomultithread",
                  "--threads-per-core=1", "--ntasks-per-core=1", "--sockets-per-node=2", "--ntasks-per-socket=4", "--mincpus=40",
                  "--core-spec=2", "--tmp=10", "--gpu-bind=none", "--gpus-per-socket=4 --sockets-per-node=2", "--distribution=cyclic",
                  "--gres-flags=enforce-binding", "--mp-group=2")
    line += maybe(0.2, "--signal=USR1@120", "--signal=B:TERM@60", "--requeue", "--no-requeue", "--open-mode=append",
                  "--time-min=4", "--array=0-1")
    return [word for option in line for word in option.split(" ")]


@pytest.fixture(scope="module")
def controller(plugins):
    with railhead_rig(NODES, cloud=True, partitions=PARTITIONS, topology=TOPOLOGY, extra=EXTRA, policy=POLICY,
                      files={"railhead.lemons": LEMONS}) as rig:
        cores = "32,32" if rig.version < (23, 11) else "64"  # a node's, or all
        for name, what in (("some", "Nodes=n[33-34]"), ("cores", f"Nodes=n[35-36] CoreCnt={cores}")):
            rig.run(["scontrol", "create", "reservation", f"ReservationName={name}", f"Users={rig.user}", "StartTime=now",
                     "Duration=60", *what.split()], user="root")
        yield rig


def verdict(rig, options, env):
    """("starts" | "waits" | "refused", what was said)"""
    result = rig.run(["sbatch", "--test-only", "--time=5", *options, "--wrap=true"], env=env, check=False)
    assert "slurm controller" not in result.stderr, f"slurmctld is gone: {options} {env}: {result.stderr}"
    return ("refused" if result.returncode != 0 or "to start at" not in result.stderr else "starts"), result.stderr.strip()


def accepted(rig, options):
    """Whether a submission that is no mere test is taken.  --test-only says no to all that cannot start
    within the future it looks at: a gang that waits for the end of a reservation is not refused."""
    result = rig.run(["sbatch", "--time=5", "--parsable", *options, "--wrap=true"], check=False)
    if result.returncode == 0:
        rig.run(["scancel", result.stdout.strip()], user="root")
    return result.returncode == 0


def test_no_job_that_stock_accepts_is_refused(controller):
    rng = random.Random(SEED)
    counts = {"starts": 0, "refused": 0}
    worse = []
    for _ in range(REQUESTS):
        options = request(rng)
        stock, _ = verdict(controller, options, {"RAILHEAD": "off"})
        ours, said = verdict(controller, options, {})
        counts[stock] += 1
        if stock == "starts" and ours != "starts" and not accepted(controller, options):
            worse.append(f"sbatch {' '.join(options)}\n    {said}")
    assert not worse, f"seed {SEED}: refused for our sake:\n" + "\n".join(worse)
    # The mix must be able to find a fault: many accepted, and many of those changed.
    assert counts["starts"] > REQUESTS / 4 and counts["refused"] > REQUESTS / 20, counts
    log = controller.log("slurmctld")
    for change, share in (("gang enforce: ", 15), ("steering enforce: ", 40), ("lemons enforce: ", 40), ("placement enforce: ", 20)):
        assert log.count(change) > REQUESTS / share, (change, log.count(change))


@pytest.fixture(scope="module")
def running_nodes(plugins):
    """Eight nodes that start jobs, in all partitions that need no other kind of node."""
    elsewhere = ("small", "mixed", "smt", "thin")
    partitions = "\n".join(line.replace("16,33-36", "08").replace("n[01-16]", "n[01-08]") for line in PARTITIONS.splitlines()
                           if not any(f"={name} " in line for name in elsewhere))
    nodes = [Nodes(4, features="h100,fast"), Nodes(4, features="h100,fast,few")]
    with railhead_rig(nodes, leaves=2, partitions=partitions, extra=EXTRA, policy=POLICY,
                      files={"railhead.lemons": "n02 never slow\n"}) as rig:
        yield rig


def test_a_job_that_stock_starts_at_once_starts_at_once(running_nodes):
    rng = random.Random(SEED + 1)
    late, started = [], 0
    for _ in range(STARTS):
        options = request(rng)
        states = []
        for env in ({"RAILHEAD": "off"}, {}):
            result = running_nodes.run(["sbatch", "--time=5", "--parsable", *options, "--wrap=sleep 100"], env=env, check=False)
            if result.returncode != 0:
                states.append("refused")
                continue
            job = result.stdout.strip()
            running = wait_until(lambda: running_nodes.job_info(job)["JobState"] == "RUNNING", 4, 0.05)
            states.append("starts" if running else "waits")
            empty(running_nodes)
            if not running:
                break
        started += states[0] == "starts"
        if states[0] == "starts" and states[1] != "starts":
            late.append(f"sbatch {' '.join(options)}: {states[1]}")
    assert not late, f"seed {SEED + 1}: later for our sake:\n" + "\n".join(late)
    assert started > STARTS / 5, started
