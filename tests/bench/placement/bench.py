"""The placement bench: the same jobs on a real slurmctld under several policies.  README.md says how to run it.

    /usr/bin/python3 tests/bench/placement/bench.py --build build/release --out results.jsonl
"""

import argparse
import dataclasses
import itertools
import json
import os
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parents[2]
sys.path.insert(0, str(CHECKOUT / "tests" / "slurm"))

import mix  # noqa: E402  (rig.py is in tests/slurm)
import play  # noqa: E402
from fabric import Fabric  # noqa: E402
from policies import find_policy  # noqa: E402
from rig import slurm_version  # noqa: E402

WINDOW_S = 60


@dataclasses.dataclass(frozen=True)
class Run:
    """One point of the matrix; its fields are the key by which a result is found again."""

    mix: str
    policy: str
    slowdown: float
    load: float
    seed: int
    window_s: int = WINDOW_S
    leaves: int = Fabric.leaves

    @property
    def key(self):
        return dataclasses.astuple(self)


def make_jobs(run, site):
    if run.mix == "synthetic":
        return mix.synthetic(site, run.seed, run.load, run.window_s)
    return mix.philly(site, run.seed, run.load, run.window_s, mix.traces_folder(CHECKOUT))


def cpu_s(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def play_run(run, plugins):
    """Plays one run; the result as it is written to the file of results."""
    policy = find_policy(run.policy)
    site = mix.default_site(policy.set_aside, run.leaves)
    jobs = make_jobs(run, site)
    begun = time.monotonic()
    with play.make_rig(site, policy, run.slowdown, plugins) as rig:
        player = play.Player(rig, site, policy, run.slowdown)
        fates = player.play(jobs)
        used_s = cpu_s(int((rig.dir / "slurmctld.pid").read_text()))
    return {
        **dataclasses.asdict(run), "slurm": ".".join(map(str, slurm_version())), "wall_s": round(time.monotonic() - begun, 1),
        "slurmctld_cpu_s": round(used_s, 2), "machine_load": round(os.getloadavg()[0], 1), "late_s": round(player.late_s, 2),
        "jobs": [fate_row(fate) for fate in fates if fate.job.measured],
    }


def fate_row(fate):
    """[index, nodes, kind, run, wait, completion, span, minimal span], seconds; a refused job: [index, nodes, kind, why]"""
    job = fate.job
    if fate.id is None:
        return [job.index, job.nodes, job.kind, fate.error]
    return [job.index, job.nodes, job.kind, round(job.run_s, 2), round(fate.wait_s, 2), round(fate.end_s - fate.submit_s, 2),
            fate.span, fate.minimal]


@dataclasses.dataclass(frozen=True)
class Part:
    """A part of the bench: every combination of these."""

    mixes: list
    policies: list
    slowdowns: list
    loads: list
    seeds: int
    window: int = WINDOW_S
    leaves: int = Fabric.leaves


LOADS = [0.9, 1.1, 1.25]
COMPARED = ["stock", "switches", "railhead"]
FULL = [
    Part(["synthetic"], COMPARED, [0, 0.05, 0.1, 0.2], LOADS, seeds=5),
    Part(["synthetic"], ["railhead-half-price", "railhead-double-price", "railhead-strict"], [0.1], [1.1], seeds=5),
    Part(["synthetic"], ["railhead-small"], [0.05, 0.1, 0.2], LOADS, seeds=5),
    Part(["synthetic"], ["try:wait_s=0,price=1,alternatives=2"], [0.1], LOADS, seeds=5),
    Part(["philly"], COMPARED, [0, 0.1], [1.1], seeds=5),
]
QUICK = [Part(["synthetic"], COMPARED, [0.1], [1.1], seeds=1, window=8)]


def runs_of(part):
    """The runs of one seed and load lie next to each other, so that they share the machine's mood."""
    points = itertools.product(part.mixes, range(1, part.seeds + 1), part.loads, part.slowdowns, part.policies)
    return [Run(name, policy, slowdown, load, seed, part.window, part.leaves) for name, seed, load, slowdown, policy in points]


def plan(arguments):
    """Every run asked for; without the traces, those of the synthetic mix."""
    parts = QUICK if arguments.quick else FULL
    if given := {name: value for name, value in vars(arguments).items() if value and name in vars(FULL[0])}:
        parts = [dataclasses.replace(parts[0], **given)]
    runs = [run for part in parts for run in runs_of(part)]
    kept = [run for run in runs if run.mix != "philly" or mix.traces_folder(CHECKOUT)]
    if len(kept) < len(runs):
        print("SKIPPED: the mix drawn from Philly: no shared/traces beside the checkout", file=sys.stderr)
    return kept


def read_results(path):
    """The results in a file of JSON lines; a last line that was cut off by a kill does not count."""
    if not path.exists():
        return []
    lines = path.read_text().split("\n")
    return [json.loads(line) for line in lines[:-1] if line]


def result_key(result):
    return tuple(result.get(field.name, field.default) for field in dataclasses.fields(Run))


def run_all(runs, arguments):
    """Plays the runs that have no result yet, several at a time, each in a process of its own."""
    done = {result_key(result) for result in read_results(arguments.out)}
    todo = [run for run in runs if run.key not in done]
    print(f"{len(runs)} runs, {len(runs) - len(todo)} of them done before, {arguments.parallel} at a time", file=sys.stderr)
    running, failed, begun = {}, 0, time.monotonic()
    while todo or running:
        while todo and len(running) < arguments.parallel:
            run = todo.pop(0)
            command = [sys.executable, __file__, "--build", arguments.build, "--one", json.dumps(run.key)]
            running[subprocess.Popen(command, stdout=subprocess.PIPE, text=True)] = run
        ended = [process for process in running if process.poll() is not None]
        for process in ended:
            run, line = running.pop(process), process.stdout.read()
            failed += process.returncode != 0
            if process.returncode == 0:
                with open(arguments.out, "a") as file:
                    file.write(line)
            left = len(todo) + len(running)
            print(f"{time.monotonic() - begun:5.0f} s  {left:3} left  {'ok ' if process.returncode == 0 else 'BAD'} {run.key}",
                  file=sys.stderr)
        time.sleep(0.2)
    return failed


def listed(kind):
    """An argument that is a list with commas."""
    return lambda text: [kind(part) for part in text.split(",")]


def policy_name(name):
    """An argument that is a policy's name."""
    try:
        find_policy(name)
    except ValueError as error:
        raise argparse.ArgumentTypeError(error) from None
    return name


def parse_arguments():
    parser = argparse.ArgumentParser(prog="bench.py", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--build", type=Path, default=CHECKOUT / "build" / "dev", help="build folder with our plugins")
    parser.add_argument("--out", type=Path, help="file of results, JSON lines; a second run goes on where this one ends")
    parser.add_argument("--quick", action="store_true", help="one seed and one load, about a minute: shows that the bench works")
    parser.add_argument("--policy", action="append", dest="policies", type=policy_name, metavar="NAME",
                        help="may be repeated; any of these seven replaces the whole plan by one part")
    parser.add_argument("--mixes", type=listed(str), help="synthetic, philly")
    parser.add_argument("--slowdowns", type=listed(float), help="share by which a job slows on more leaves than it must")
    parser.add_argument("--loads", type=listed(float), help="the work that comes, over what the cluster can do")
    parser.add_argument("--seeds", type=int, help="1 to so many")
    parser.add_argument("--window", type=int, help="seconds in which the measured jobs arrive")
    parser.add_argument("--leaves", type=int, help="leaves of 16 nodes (default: 16)")
    parser.add_argument("--parallel", type=int, default=8, help="clusters at a time")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if not (arguments.out or arguments.one):
        parser.error("--out FILE is needed")
    plugin = arguments.build / "plugins" / "job_submit_railhead.so"
    if not plugin.is_file():
        parser.error(f"no {plugin}: build the target job_submit_railhead, or name another build with --build")
    return arguments


def main():
    arguments = parse_arguments()
    if arguments.one:
        result = play_run(Run(*json.loads(arguments.one)), arguments.build / "plugins")
        print(json.dumps(result, separators=(",", ":")))
        return
    sys.exit(1 if run_all(plan(arguments), arguments) else 0)


if __name__ == "__main__":
    main()
