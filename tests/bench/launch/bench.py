"""How much longer a step takes with spank_railhead.so on its node, and each of its tasks.

    /usr/bin/python3 tests/bench/launch/bench.py --build build/release

One node a variant, all up at the same time: none (no plugin), cold (no facts are kept, so every step looks at the
hardware) and warm.  Steps of one task and of 64 tasks go to each in turn, inside of an allocation, in an order that
changes from round to round, so that a busy spell of the machine meets all of them.

Measured twice: by the wall clock of srun, and by clock.c, a plugin before ours in plugstack.conf and behind it, which
tells what passes between in slurmstepd (wall clock: the look at the hardware is another process) and in each task (time
of the CPU, which other work on the machine does not change).  Shown are the differences to none.
"""

import argparse
import contextlib
import json
import os
import random
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parents[2]
sys.path.insert(0, str(CHECKOUT / "tests" / "slurm"))

from keeper import wait_until  # noqa: E402  (keeper.py and rig.py are in tests/slurm)
from rig import Rig, RigError  # noqa: E402

VARIANTS = ["none", "cold", "warm"]
TASKS = [1, 64]
NODE_XML = CHECKOUT / "tests" / "data" / "nodes" / "dgx-h100.xml"
CLOCKS = ["before", "behind"]
LINE = "optional {plugins}/spank_railhead.so topology={etc}/node.xml nccl_conf=/nonexistent cache={run}/railhead\n"


def make_rig(variant, plugins):
    """A node of 64 CPUs and 8 GPUs."""
    clock = "optional {{etc}}/clock_{0}.so {{run}}/clock_{0}\n"
    plugstack = "".join([clock.format("before"), "" if variant == "none" else LINE, clock.format("behind")])
    rig = Rig(1, plugins=plugins, plugstack=plugstack, files={"node.xml": NODE_XML.read_text()}, extra="SlurmdDebug=error")
    rig.start()
    try:
        for name in CLOCKS:
            subprocess.run(["cc", "-O2", "-shared", "-fPIC", f"-DCLOCK_NAME=clock_{name}", "-o", rig.etc / f"clock_{name}.so",
                            HERE / "clock.c"], check=True)
            (rig.run_dir / f"clock_{name}").touch()
            (rig.run_dir / f"clock_{name}").chmod(0o666)  # tasks are the user's
    except BaseException:
        rig.stop()
        raise
    return rig


def read_clocks(rig):
    """Since the last call: (microseconds of the step, the median microseconds of its tasks) between the two clocks."""
    between = {}
    for name, sign in zip(CLOCKS, (-1, 1)):
        file = rig.run_dir / f"clock_{name}"
        for line in file.read_text().splitlines():
            hook, pid, wall, cpu = line.split()
            key = hook, pid
            between[key] = between.get(key, 0) + sign * int(cpu if hook == "task_init" else wall) / 1000
        file.write_text("")
    tasks = [time for (hook, _), time in between.items() if hook == "task_init"]
    return sum(between.values()) - sum(tasks), statistics.median(tasks)


def allocate(rig):
    """A job that has the whole node for as long as the bench lives."""
    job = rig.sbatch("#!/bin/sh\nsleep 86400\n", "-N1", "--exclusive", "--gres=gpu:8")
    if not wait_until(lambda: rig.job_info(job)["JobState"] == "RUNNING", 30, 0.1):
        raise RigError("start the allocation of the bench")
    return job


def forget(rig):
    for file in (rig.run_dir / "railhead").glob("*.node"):
        file.unlink()


def launch(rig, job, variant, tasks):
    """(milliseconds of one step, what its clocks say)."""
    if variant == "cold":
        forget(rig)
    step = ["srun", f"--jobid={job.id}", "--overlap", f"--ntasks={tasks}", "--overcommit", "--gres=gpu:8", "/bin/true"]
    begun = time.monotonic()
    rig.run(step)
    return 1000 * (time.monotonic() - begun), *read_clocks(rig)


def check_served(rigs, jobs):
    """With the plugin tasks are served, and facts are kept, else the comparison is none."""
    for variant, rig in rigs.items():
        step = ["srun", f"--jobid={jobs[variant].id}", "--overlap", "-n1", "--gres=gpu:8", "printenv", "RAILHEAD_RAILS"]
        if bool(rig.run(step, check=False).stdout) != (variant != "none"):
            raise RigError(f"{variant}: a task has RAILHEAD_RAILS, or lacks it")
        read_clocks(rig)
        if variant != "none" and not list((rig.run_dir / "railhead").glob("*.node")):
            raise RigError(f"{variant}: nothing is kept in {rig.run_dir}/railhead")


def measure(arguments):
    """Per number of tasks and variant, the figures of launch() in each round."""
    found = {tasks: {variant: [] for variant in VARIANTS} for tasks in TASKS}
    with contextlib.ExitStack() as stack:
        rigs = {}
        for variant in VARIANTS:
            rigs[variant] = make_rig(variant, arguments.build / "plugins")
            stack.callback(rigs[variant].stop)
        jobs = {variant: allocate(rig) for variant, rig in rigs.items()}
        check_served(rigs, jobs)
        draw = random.Random(1)
        for number in range(arguments.rounds + 1):
            for tasks in TASKS:
                for variant in draw.sample(VARIANTS, len(VARIANTS)):
                    figures = launch(rigs[variant], jobs[variant], variant, tasks)
                    if number > 0:  # the first round warms up
                        found[tasks][variant].append(figures)
    return {"slurm": rigs["none"].release, "load": os.getloadavg()[1], "rounds": found}


def middle(values, draw=None, repeats=2000):
    """(median, and the ends of its 95 % interval) by the bootstrap."""
    draw = draw or random.Random(2)
    medians = sorted(statistics.median(draw.choices(values, k=len(values))) for _ in range(repeats))
    return statistics.median(values), medians[int(0.025 * repeats)], medians[int(0.975 * repeats)]


def added(result, tasks, variant, what):
    """Round by round against none, of steps of so many tasks: 0 srun's milliseconds, 1 microseconds of the step, 2 of a task."""
    rounds = result["rounds"][tasks]
    return [took[what] - base[what] for took, base in zip(rounds[variant], rounds["none"])]


def interval(values, unit, digits):
    return "{:+.{d}f} {} ({:+.{d}f} to {:+.{d}f})".format(middle(values)[0], unit, *middle(values)[1:], d=digits)


def print_result(result):
    rounds = len(result["rounds"][TASKS[0]]["none"])
    print(f"Slurm {result['slurm']}, {rounds} rounds, {os.cpu_count()} CPUs, load {result['load']:.1f}")
    for tasks in TASKS:
        base = statistics.median(figures[0] for figures in result["rounds"][tasks]["none"])
        print(f"  steps of {tasks} tasks; srun alone takes {base:.1f} ms")
        for variant in VARIANTS[1:]:
            print(f"    {variant}  srun {interval(added(result, tasks, variant, 0), 'ms', 1)}"
                  f"   step {interval(added(result, tasks, variant, 1), 'us', 0)}"
                  f"   task {interval(added(result, tasks, variant, 2), 'us', 0)}")


def main():
    parser = argparse.ArgumentParser(prog="bench.py", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--build", type=Path, default=CHECKOUT / "build" / "dev", help="build folder with our plugins")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--out", type=Path, help="also append the result as a JSON line")
    arguments = parser.parse_args()
    result = measure(arguments)
    print_result(result)
    if arguments.out:
        with open(arguments.out, "a") as file:
            file.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
