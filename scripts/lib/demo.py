"""Tells what Railhead does to four sbatch scripts, on two real clusters: stock Slurm and Railhead.

    demo.py PLUGINS

Both clusters are filled with the same other jobs first, so that there is something to decide; each
script is then submitted to both, unchanged, by an ordinary user.  Exit status 1 when a job fails or
when Railhead makes no difference to any of them.
"""

import dataclasses
import json
import re
import shutil
import sys
import textwrap
import time
from collections import Counter
from datetime import datetime
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(CHECKOUT / "tests" / "slurm"))

from keeper import wait_until  # noqa: E402
from rig import Rig, RigError  # noqa: E402

SCRIPTS = CHECKOUT / "scripts" / "demo.d"
NODE = CHECKOUT / "tests" / "data" / "nodes" / "two-cpu-8gpu.xml"
WIDTH = 80
PER_LEAF = 4


@dataclasses.dataclass(frozen=True)
class Other:
    """A job of somebody else: `gpus` of one node; it ends when our job has been seen to wait for it."""

    node: str
    gpus: int
    ends: bool = False


@dataclasses.dataclass(frozen=True)
class Act:
    script: str
    title: str
    scene: str
    others: tuple[Other, ...]


def others(busy, ends=()):
    """{"n01": 8, ...}: so many GPUs of a node are busy."""
    return tuple(Other(node, gpus, ends=node in ends) for node, gpus in busy.items())


ACTS = (
    Act("srun.sbatch", "16 GPUs, one task each",
        "only n04 and n05 are free, behind two leaves; n03 will be free soon",
        others({"n01": 8, "n02": 8, "n03": 8, "n06": 8, "n07": 8, "n08": 8}, ends=("n03",))),
    Act("gpus.sbatch", "16 GPUs, and no node count",
        "four nodes have four free GPUs each; n07 and n08 will be free soon",
        others({"n01": 4, "n02": 4, "n03": 8, "n04": 8, "n05": 4, "n06": 4, "n07": 8, "n08": 8}, ends=("n07", "n08"))),
    Act("torchrun.sbatch", "one launcher a node, eight GPUs each",
        "only n01 and n08 are free, behind two leaves; n07 will be free soon",
        others({"n02": 8, "n03": 8, "n04": 8, "n05": 8, "n06": 8, "n07": 8}, ends=("n07",))),
    Act("small.sbatch", "one GPU",
        "every node has four free GPUs",
        others({f"n{i:02}": 4 for i in range(1, 9)})),
)


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What became of a script on one cluster."""

    job: int
    hosts: list[str]
    company: int  # other jobs on the same nodes
    waited: int  # seconds
    notes: list[str]
    tasks: list[dict]

    @property
    def leaves(self):
        return sorted({leaf(host) for host in self.hosts})

    @property
    def gpus(self):
        """GPUs that a task sees, by host."""
        return {task["host"]: task["env"].get("CUDA_VISIBLE_DEVICES", "") for task in self.tasks}


def leaf(host):
    return f"leaf{(int(host[1:]) - 1) // PER_LEAF + 1}"


# -- the clusters ---------------------------------------------------------------------------


def stock():
    return Rig(2 * PER_LEAF, leaves=2, extra=EXTRA)


def railhead(plugins):
    return Rig(2 * PER_LEAF, leaves=2, extra=EXTRA, plugins=plugins, job_submit=True, policy='mode = "enforce"\nplacement.wait = "5m"\n',
               plugstack="optional {plugins}/spank_railhead.so topology={etc}/node.xml cache={run}/railhead\n",
               files={"node.xml": NODE.read_text()})


# The nodes' 64 CPUs are made up: Slurm cannot bind tasks to most of them, so it is told not to try.
EXTRA = "TaskPlugin=task/none"


def fill(rig, others):
    """Starts the jobs of somebody else; {job id: Other}."""
    jobs = {}
    for other in others:
        job = rig.sbatch("#!/bin/sh\nexec sleep 600\n", f"--nodelist={other.node}", f"--gres=gpu:{other.gpus}", "--output=/dev/null",
                         "--job-name=other")
        jobs[job.id] = other
    wait_for(lambda: states(rig, *jobs) == {"R"}, "start the other jobs", rig)
    return jobs


def states(rig, *jobs):
    listed = ",".join(map(str, jobs))
    return set(rig.run(["squeue", "--noheader", "--format=%t", "--jobs", listed], check=False).stdout.split())


def empty(rig):
    rig.run(["scancel", f"--user={rig.user}"])
    wait_for(lambda: not rig.run(["squeue", "--noheader"]).stdout, "end the jobs", rig)
    wait_for(lambda: set(rig.run(["sinfo", "--noheader", "--format=%T"]).stdout.split()) == {"idle"}, "free the nodes", rig)


def wait_for(condition, step, rig):
    if not wait_until(condition, 30, 0.1):
        raise RigError(f"{step}: not done after 30 s\n{rig.run('squeue; sinfo', check=False).stdout}")


def submit(rig, script):
    for name in (script, "train"):
        shutil.copy(SCRIPTS / name, rig.work)
    result = rig.run(["sbatch", "--output=%j.out", script])
    notes = [re.sub(r"^sbatch: (railhead: )?", "", line) for line in result.stderr.splitlines()]
    return int(re.search(r"\d+", result.stdout)[0]), notes


def play(rig, act):
    """Fills the cluster, submits the script and sees the job to its end."""
    others = fill(rig, act.others)
    job, notes = submit(rig, act.script)
    if not wait_until(lambda: states(rig, job) != {"PD"}, 1.5, 0.1):
        # It waits: the jobs that are about to end do.
        rig.run(["scancel", *(id for id, other in others.items() if other.ends)])
    info = rig.wait_job(job, timeout=30)
    tasks = [json.loads(path.read_text()) for path in rig.work.glob(f"task-{job}-*.json")]
    if info["JobState"] != "COMPLETED" or not tasks:
        raise RigError(f"{act.script}: {info['JobState']}\n{(rig.work / f'{job}.out').read_text()}")
    hosts = rig.hostnames(info["NodeList"])
    staying = {other.node for id, other in others.items() if states(rig, id) == {"R"}}
    empty(rig)
    return Outcome(
        job=job, hosts=hosts, company=len(staying & set(hosts)), waited=seconds_between(info["SubmitTime"], info["StartTime"]),
        notes=notes, tasks=sorted(tasks, key=lambda task: task["task"]))


def seconds_between(begin, end):
    return round((datetime.fromisoformat(end) - datetime.fromisoformat(begin)).total_seconds())


# -- the story ------------------------------------------------------------------------------


def say(text=""):
    print(text, flush=True)


def field(name, text):
    say(textwrap.fill(text, WIDTH, initial_indent=f"  {name:<16} ", subsequent_indent=" " * 19, break_on_hyphens=False))


def table(rows, indent="  "):
    """Rows of text in aligned columns, the first row as the heading."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        say((indent + "  ".join(cell.ljust(width) for cell, width in zip(row, widths))).rstrip())


def asked(script):
    lines = (SCRIPTS / script).read_text().splitlines()
    options = [line.split(maxsplit=1)[1] for line in lines if line.startswith("#SBATCH")]
    return " ".join(option for option in options if not option.startswith(("--job-name", "--time")))


def compact(numbers):
    """"0,1,2,3,6" -> "0-3,6"; anything else as it is."""
    if not re.fullmatch(r"\d+(,\d+)*", numbers):
        return numbers
    runs = []
    for number in map(int, numbers.split(",")):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def count(visible):
    """How many GPUs a CUDA_VISIBLE_DEVICES shows."""
    return len(visible.split(",")) if visible else 0


def landing(outcome, least):
    gpus = [count(outcome.gpus.get(host, "")) for host in outcome.hosts]
    leaves = len(outcome.leaves)
    tasks = Counter(task["host"] for task in outcome.tasks)
    return [
        ",".join(outcome.hosts),
        " + ".join(map(str, gpus)),
        " + ".join(str(tasks[host]) for host in outcome.hosts),
        f"{leaves} ({', '.join(outcome.leaves)})",
        str(least),
        f"shared with {outcome.company} other job{'s' * (outcome.company != 1)}" if outcome.company else "to itself",
        f"{outcome.waited} s",
    ]


def tell(act, before, after):
    total = sum(map(count, before.gpus.values()))
    least = -(-max(1, -(-total // 8)) // PER_LEAF)  # whole nodes, then leaves

    field("asked", asked(act.script))
    field("the cluster", act.scene)
    say()
    table([list(row) for row in zip(
        ["", "nodes", "GPUs a node", "tasks a node", "leaves", "least leaves", "its nodes", "waited"],
        ["stock Slurm", *landing(before, least)],
        ["Railhead", *landing(after, least)])])
    say()
    if not after.notes:
        field("Railhead said", "nothing: there was nothing to change")
    for number, note in enumerate(after.notes):
        field("" if number else "Railhead said", f"- {note}")
    say()
    tell_tasks(before, after)


def tell_tasks(before, after):
    """Every task's own; then what all tasks have in common."""
    say("  every task, with Railhead (stock CPUs in parentheses)")
    stock_cpus = {task["task"]: task["cpus"] for task in before.tasks}
    rows = [["task", "host", "visible GPUs", "rail (UCX)", "CPUs"]]
    for task in after.tasks:
        env = task["env"]
        rows.append([str(task["task"]), task["host"], compact(env.get("CUDA_VISIBLE_DEVICES", "none")),
                     rail(env), f"{task['cpus']} ({stock_cpus.get(task['task'], '-')})"])
    table(rows, "    ")
    say()
    for title, names in (("all tasks found", common(after.tasks)), ("task 0's own", varying(after.tasks))):
        for number, (name, value) in enumerate(sorted(names.items())):
            variable("" if number else title, f"{name}={value}")


def rail(env):
    nics = env.get("UCX_NET_DEVICES", "-").split(",")
    return nics[0] if len(nics) == 1 else f"{len(nics)} NICs"


def variable(title, text, most=3):
    """NAME=VALUE, broken at commas; a long value is cut."""
    lines = [""]
    for piece in re.findall(r"[^,]*,?", text):
        if lines[-1] and len(lines[-1] + piece) > WIDTH - 19:
            lines.append("")
        lines[-1] += piece
    for number, line in enumerate(lines[:most]):
        more = " ..." if number == most - 1 and len(lines) > most else ""
        say(f"  {'' if number else title:<17}{line}{more}")


def common(tasks):
    """Variables that all tasks have with one value."""
    first = tasks[0]["env"]
    return {name: value for name, value in first.items()
            if name != "CUDA_VISIBLE_DEVICES" and all(task["env"].get(name) == value for task in tasks)}


def varying(tasks):
    """The other variables, as the first task has them."""
    same = common(tasks)
    return {name: f"{value}" for name, value in tasks[0]["env"].items()
            if name not in same and name not in ("CUDA_VISIBLE_DEVICES", "UCX_NET_DEVICES")}


def placed_better(before, after):
    """What Railhead made better about the place, in a few words; "" if nothing."""
    said = []
    for what, old, new in (("leaves", len(before.leaves), len(after.leaves)), ("nodes", len(before.hosts), len(after.hosts)),
                           ("other jobs beside it", before.company, after.company)):
        if new < old:
            said.append(f"{what} {old} -> {new}")
    return ", ".join(said)


def wired(before, after):
    """What the tasks have that they had not."""
    said = []
    if any("NCCL_IB_HCA" in task["env"] for task in after.tasks) and not any("NCCL_IB_HCA" in task["env"] for task in before.tasks):
        said.append("rails")
    if [task["cpus"] for task in before.tasks] != [task["cpus"] for task in after.tasks]:
        said.append("CPUs")
    return f"tasks know their {' and '.join(said)}" if said else ""


def main():
    plugins = Path(sys.argv[1])
    begun = time.monotonic()
    with stock() as plain, railhead(plugins) as ours:
        say()
        say(textwrap.fill(
            f"Two Slurm {ours.release} clusters run here now, each of 8 nodes with 8 GPUs, four nodes behind each of two "
            f"leaf switches. One is stock Slurm, the other has Railhead. User {ours.user} submits the same scripts to both.",
            WIDTH))
        verdicts = []
        for number, act in enumerate(ACTS, 1):
            say(f"\n{f'-- {number} of {len(ACTS)}: {act.script}: {act.title} ':-<{WIDTH}}")
            before, after = play(plain, act), play(ours, act)
            tell(act, before, after)
            verdicts.append([act.script, placed_better(before, after), wired(before, after)])
    say(f"\n{'-- in short ':-<{WIDTH}}")
    for script, place, wiring in verdicts:
        field(script, "; ".join(filter(None, [place or "same place", wiring])))
    say(f"\n  Both clusters are gone again. {time.monotonic() - begun:.0f} s.")
    if not any(place or wiring for _, place, wiring in verdicts):
        sys.exit("demo: Railhead made no difference to any script")


if __name__ == "__main__":
    try:
        main()
    except (RigError, OSError) as error:
        sys.exit(f"demo: {error}")
