"""What a test does with a rig: commands as the plain user, jobs, logs."""

import contextlib
import dataclasses
import os
import pwd
import re
import shlex
import signal
import subprocess
from pathlib import Path

from keeper import die_with_parent, wait_until
from rig_machine import CommandError, RigError, tail

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
FINISHED = {"BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY",
            "PREEMPTED", "TIMEOUT"}


@dataclasses.dataclass(frozen=True)
class Job:
    """A job that sbatch accepted, or refused (`id` is then None)."""

    id: int | None
    stdout: str
    stderr: str  # what the user was told, Railhead's notes among it
    script: Path

    def output(self):
        """What the job has printed so far (stdout and stderr), for jobs that keep sbatch's default file."""
        path = self.script.parent / f"slurm-{self.id}.out"
        return path.read_text() if path.exists() else ""


class Use:
    """The part of a Rig that submits jobs, runs commands and reads logs."""

    def environment(self, user=None):
        """A clean environment: what the test runner inherited reaches no job."""
        user = user or self.user
        return {"PATH": PATH, "LANG": "C.UTF-8", "HOME": "/root" if user == "root" else str(self.work), "USER": user,
                "LOGNAME": user, "SHELL": "/bin/sh", "SLURM_CONF": str(self.conf)}

    def popen(self, command, *, user=None, env=None, cwd=None, **options):
        """Starts a command (a string for the shell, or a list) as the plain user, in its work folder."""
        account = pwd.getpwnam(user or self.user)
        if isinstance(command, str):
            command = ["/bin/sh", "-c", command]
        return subprocess.Popen(
            [str(word) for word in command], env={**self.environment(user), **(env or {})}, cwd=cwd or self.work, text=True,
            user=account.pw_uid, group=account.pw_gid, extra_groups=[], start_new_session=True,
            preexec_fn=die_with_parent, **options)

    def run(self, command, *, user=None, env=None, cwd=None, input=None, timeout=60, check=True):
        """Runs a command; returns a CompletedProcess, or raises CommandError."""
        stdin = {"stdin": subprocess.DEVNULL} if input is None else {"stdin": subprocess.PIPE}
        with self.popen(command, user=user, env=env, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **stdin) as process:
            try:
                out, err = process.communicate(input, timeout)
            except BaseException as error:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                if isinstance(error, subprocess.TimeoutExpired):
                    raise RigError(f"{command}: still running after {timeout} s\n{tail(self.log('slurmctld'))}") from None
                raise
        result = subprocess.CompletedProcess(command, process.returncode, out, err)
        if check and result.returncode != 0:
            raise CommandError(command if isinstance(command, str) else shlex.join(map(str, command)), result)
        return result

    def sbatch(self, script, *options, user=None, env=None, check=True):
        """Submits a script (its text) from a file in the work folder; returns a Job."""
        self.scripts += 1
        path = self.work / f"script{self.scripts}.sbatch"
        path.write_text(script)
        path.chmod(0o755)
        result = self.run(["sbatch", *options, path], user=user, env=env, check=check)
        found = re.search(r"Submitted batch job (\d+)", result.stdout)
        return Job(int(found[1]) if found else None, result.stdout, result.stderr, path)

    def job_infos(self, job):
        """`scontrol show job` as dictionaries: one for each array task or component of a het job."""
        out = self.run(["scontrol", "-o", "show", "job", str(job.id if isinstance(job, Job) else job)], user="root").stdout
        # Values may hold blanks and "="; the next key follows a blank.
        infos = [dict(part.split("=", 1) for part in re.split(r"\s+(?=[A-Z][\w/:]*=)", line.strip()) if "=" in part)
                 for line in out.splitlines() if line.strip()]
        for info in infos:
            # 26.05 tells by Exclusive= what OverSubscribe=NO meant before.
            if info.get("Exclusive") == "NO" and info["OverSubscribe"] == "NO":
                info["OverSubscribe"] = "OK"
        return infos

    def job_info(self, job):
        return self.job_infos(job)[0]

    def wait_job(self, job, timeout=60, states=FINISHED):
        """Waits until the job is in one of `states`; returns its job_info()."""
        info = {}

        def reached():
            nonlocal info
            info = self.job_info(job)
            return info["JobState"] in states
        if not wait_until(reached, timeout, 0.1):
            raise RigError(f"wait for job {info['JobId']}: {info['JobState']} ({info['Reason']}) after {timeout} s, not in "
                           f"{sorted(states)}\n{tail(self.log('slurmctld'))}\n{self._node_errors()}")
        return info

    def _node_errors(self):
        """What the nodes complained of last."""
        return "\n".join(f"{name}: {tail(complaints, 3)}" for name in self.names[:0 if self.cloud else None]
                         if (complaints := "\n".join(line for line in self.log(name).splitlines() if "error" in line)))

    def log(self, name):
        """The log of slurmctld, munged or a node, and what the daemon said only on its standard error."""
        def read(path):
            return path.read_text(errors="replace") if path.exists() else ""
        text = read(self.dir / "munge" / "munged.log" if name == "munged" else self.logs / f"{name}.log")
        for line in read(self.logs / f"{name}.out").splitlines():
            if re.sub(r"^slurm(ctld|d): ", "", line) not in text:
                text += line + "\n"
        return text

    def reconfigure(self):
        self.run(["scontrol", "reconfigure"], user="root")

    def hostnames(self, hostlist):
        """"n[01-02]" -> ["n01", "n02"]"""
        return self.run(["scontrol", "show", "hostnames", hostlist], user="root").stdout.split()
