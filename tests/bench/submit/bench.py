"""How long slurmctld takes to accept a job: without a plugin, with job_submit/lua, and with Railhead.

    /usr/bin/python3 tests/bench/submit/bench.py --build build/release

One controller a variant, all up at the same time.  Rounds of jobs go to each in turn, in an order that changes from
round to round, so that a busy spell of the machine meets all of them.  The jobs are held, and go away after each
round: what is measured is the submission, not the scheduler.  sdiag tells slurmctld's own time of the RPC, the wall
clock that of a whole sbatch.
"""

import argparse
import contextlib
import json
import random
import re
import statistics
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parents[2]
sys.path.insert(0, str(CHECKOUT / "tests" / "slurm"))

from rig import Rig, RigError  # noqa: E402  (rig.py is in tests/slurm)

LEAF = 16
VARIANTS = ["none", "lua", "railhead"]
POLICY = 'mode = "enforce"\nnotes = "never"\n'
REQUESTS = [  # what is rewritten, and what is not
    ["--gpus=32"],
    ["--gpus=64", "--ntasks=64"],
    ["--ntasks=16", "--gpus-per-task=1"],
    ["-N4", "--gres=gpu:8"],
    ["-N16", "--gres=gpu:8", "-C", "fast"],
    ["-N1", "--gres=gpu:1"],
]


def make_rig(variant, nodes, plugins):
    options = {}
    if variant == "lua":
        options = {"extra": "JobSubmitPlugins=lua\n", "files": {"job_submit.lua": (HERE / "job_submit.lua").read_text()}}
    elif variant == "railhead":
        options = {"plugins": plugins, "job_submit": True, "policy": POLICY}
    extra = options.pop("extra", "") + "SlurmctldDebug=error"
    return Rig(nodes, features="fast", cloud=True, leaves=nodes // LEAF, extra=extra, **options)


def rpc_ave_us(rig):
    """(count, average microseconds) of the submissions since the last reset."""
    shown = rig.run(["sdiag"], user="root").stdout
    found = re.search(r"REQUEST_SUBMIT_BATCH_JOB\s+\(\s*\d+\) count:(\d+)\s+ave_time:(\d+)", shown)
    if not found:
        raise RigError("sdiag shows no submission")
    return int(found[1]), int(found[2])


def play_round(rig, count):
    """Submits `count` jobs one after the other; (microseconds of the RPC, milliseconds of sbatch), means."""
    rig.run(["sdiag", "--reset"], user="root")
    begun = time.monotonic()
    for index in range(count):
        rig.run(["sbatch", "--hold", *REQUESTS[index % len(REQUESTS)], "job"])
    wall_ms = 1000 * (time.monotonic() - begun) / count
    submitted, ave_us = rpc_ave_us(rig)
    if submitted != count:
        raise RigError(f"sdiag counts {submitted} submissions, not {count}")
    rig.run(["scancel", "-u", rig.user])
    return ave_us, wall_ms


def check_rewritten(rigs):
    """Both plugins make the same of every request, else the comparison is none."""
    def shape(rig, request):
        job = rig.sbatch("#!/bin/sh\n", "--hold", *request)
        info = rig.job_info(job)
        return info["NumNodes"], info.get("Switches", "").partition("@")[0]
    for request in REQUESTS:
        lua, railhead = (shape(rigs[variant], request) for variant in ("lua", "railhead"))
        if lua != railhead:
            raise RigError(f"{request}: job_submit.lua makes {lua} of it, Railhead {railhead}")


def measure(nodes, arguments):
    """The result at one cluster size: per variant the figures of each round."""
    found = {variant: [] for variant in VARIANTS}
    with contextlib.ExitStack() as stack:
        rigs = {variant: stack.enter_context(make_rig(variant, nodes, arguments.build / "plugins")) for variant in VARIANTS}
        for rig in rigs.values():
            (rig.work / "job").write_text("#!/bin/sh\n")
        check_rewritten(rigs)
        draw = random.Random(nodes)
        for number in range(arguments.rounds + 1):
            for variant in draw.sample(VARIANTS, len(VARIANTS)):
                figures = play_round(rigs[variant], arguments.jobs)
                if number > 0:  # the first round warms up
                    found[variant].append(figures)
    return {"nodes": nodes, "slurm": rigs["none"].release, "jobs": arguments.jobs, "rounds": found}


def print_result(result):
    print(f"{result['nodes']} nodes, Slurm {result['slurm']}, {len(result['rounds']['none'])} rounds of {result['jobs']} jobs")
    print(f"  {'plugin':10}{'RPC median':>12}{'quartiles':>14}{'against none':>14}{'quartiles':>12}{'sbatch':>10}")
    base = [rpc for rpc, _ in result["rounds"]["none"]]
    for variant, rounds in result["rounds"].items():
        rpc, wall = ([figure[i] for figure in rounds] for i in (0, 1))
        low, middle, high = statistics.quantiles(rpc, n=4)
        least, ratio, most = statistics.quantiles([a / b for a, b in zip(rpc, base)], n=4)
        print(f"  {variant:10}{middle:9.0f} us{f'{low:.0f}-{high:.0f}':>14}{ratio:12.2f} x{f'{least:.2f}-{most:.2f}':>12}"
              f"{statistics.median(wall):7.1f} ms")
    print()


def main():
    parser = argparse.ArgumentParser(prog="bench.py", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--build", type=Path, default=CHECKOUT / "build" / "dev", help="build folder with our plugins")
    parser.add_argument("--nodes", type=lambda text: [int(part) for part in text.split(",")], default=[1024, 8192])
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--jobs", type=int, default=42, help="a round")
    parser.add_argument("--out", type=Path, help="also append the results as JSON lines")
    arguments = parser.parse_args()
    for nodes in arguments.nodes:
        result = measure(nodes, arguments)
        print_result(result)
        if arguments.out:
            with open(arguments.out, "a") as file:
                file.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
