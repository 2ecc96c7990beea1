"""Training runs on a private cluster: the example scripts as they are shipped, with a small real trainer in the
place of train.py and of torchrun, and what the trainer wrote down about them.
"""

import json
import os
import pwd
import re
import shutil
from pathlib import Path

import trainer
from conftest import BUILD, CHECKOUT, PLUGINS
from keeper import wait_until
from rig import PATH, Job, Rig, RigError

EXAMPLES = CHECKOUT / "config" / "examples" / "checkpoint"
HERE = Path(__file__).parent


def training_rig(nodes=4, **options):
    """A cluster whose nodes may die and whose jobs may be preempted, with both plugins."""
    options.setdefault("plugins", PLUGINS)
    options.setdefault("plugstack", f"optional {{plugins}}/spank_railhead.so helper={BUILD}/spank/railhead-ckpt\n")
    options.setdefault("job_submit", True)
    options.setdefault("grace", 8)
    options.setdefault("proctrack", "cgroup")
    options["extra"] = "SlurmctldParameters=preempt_send_user_signal\n" + options.get("extra", "")
    return Rig(nodes, gpus=2, sockets=2, cores=4, node_timeout=6, **options)


class Run:
    """One training run in a folder of its own: a job, and all that started again in its place."""

    def __init__(self, rig, name):
        self.rig, self.folder, self.steps = rig, rig.work / name, None
        self.folder.mkdir()
        shutil.copy(HERE / "trainer.py", self.folder / "train.py")
        shutil.copy(HERE / "torchrun.py", self.folder / "torchrun")
        account = pwd.getpwnam(rig.user)
        for path in (self.folder, *self.folder.iterdir()):
            os.chown(path, account.pw_uid, account.pw_gid)
        self.job = None

    def submit(self, example, *options, steps, trainer_options="", env=None, edit=lambda script: script):
        """Submits an example for so many steps; `edit` changes its text."""
        self.steps = steps
        text = (EXAMPLES / f"{example}.sbatch").read_text()
        assert "steps=100000\n" in text
        script = self.folder / f"{example}.sbatch"
        script.write_text(edit(text.replace("steps=100000\n", f"steps={steps}\n")))
        result = self.rig.run(["sbatch", *options, script], cwd=self.folder,
                              env={"PATH": f"{self.folder}:{PATH}", "TRAINER_OPTIONS": trainer_options, **(env or {})})
        self.job = Job(int(re.search(r"Submitted batch job (\d+)", result.stdout)[1]), result.stdout, result.stderr, script)
        return self

    def preempt(self, nodes=None):
        """Another job takes its nodes, for a second."""
        nodes = nodes or self.rig.job_info(self.job)["NodeList"]
        return self.rig.sbatch("#!/bin/sh\nsleep 1\n", "-w", nodes, "--exclusive", "-p", "urgent")

    # -- what happened ------------------------------------------------------------------------

    def events(self, event=None, **facts):
        """What the ranks wrote down, by time; only those of this kind and with these facts."""
        found = []
        for file in (self.folder / "checkpoints" / "events").glob("*.jsonl"):
            attempt, rank = file.name.split(".")[:2]
            for line in file.read_text().splitlines():
                if line.endswith("}"):  # a rank that was killed may leave half a line
                    found.append({"attempt": int(attempt), "rank": int(rank), **json.loads(line)})
        wanted = {**({"event": event} if event else {}), **facts}
        return sorted((one for one in found if wanted.items() <= one.items()), key=lambda one: one["time"])

    def wait_for(self, event, timeout=40, count=1, **facts):
        """The last of the first `count` such events, once it has come."""
        if not wait_until(lambda: len(self.events(event, **facts)) >= count, timeout, 0.1):
            raise RigError(f"wait for {count} x {event} {facts}: not after {timeout} s\n{self.story()}")
        return self.events(event, **facts)[count - 1]

    def story(self):
        """For the message of a test that failed."""
        told = [f"{one['time']:.2f} attempt {one['attempt']} rank {one['rank']} {one['event']} {one['iteration']} {one.get('why', '')}"
                for one in self.events() if one["event"] != "step"]
        info = self.rig.job_info(self.job)
        return "\n".join([f"{info['JobState']} {info['Reason']} restarts {info['Restarts']}", self.job.output(), *told[-30:]])

    def finish(self, timeout=90):
        """Waits until all steps are done; asserts that the state is that of a run that nothing interrupted."""
        end = self.wait_for("end", timeout, rank=0)
        assert end["state"] == trainer.state_after(self.steps), self.story()
        assert self.rig.wait_job(self.job)["JobState"] == "COMPLETED", self.story()
        return end

    def assert_one_history(self):
        """Asserts that all ranks of all attempts came to the same state at each iteration."""
        states = {}
        for one in self.events("step"):
            assert states.setdefault(one["iteration"], one["state"]) == one["state"], self.story()

    def lost(self, attempt=0):
        """(seconds of work that the attempt did in vain, seconds until the next one made its first step)"""
        steps = self.events("step", attempt=attempt, rank=0)
        again = self.events("start", attempt=attempt + 1, rank=0)[0]
        kept = [one["time"] for one in steps if one["iteration"] <= again["iteration"]]
        return steps[-1]["time"] - (kept[-1] if kept else steps[0]["time"]), \
            self.events("step", attempt=attempt + 1, rank=0)[0]["time"] - steps[-1]["time"]
