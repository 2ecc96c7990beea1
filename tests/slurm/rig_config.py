"""The files that a rig's daemons read: slurm.conf, gres.conf, plugstack.conf, cgroup.conf, topology.conf and ours."""

import dataclasses

from rig_machine import stock_plugin_dir


@dataclasses.dataclass(frozen=True)
class Nodes:
    """A run of equal nodes."""

    count: int
    gpus: int = 8
    gpu_type: str = "h100"
    sockets: int = 2
    cores: int = 32  # per socket
    threads: int = 1  # per core
    memory: int = 1_000_000  # MiB
    features: str = ""

    @property
    def cpus(self):
        return self.sockets * self.cores * self.threads


def tree(leaves, names):
    """topology.conf: the nodes dealt to `leaves` switches in equal runs, one spine above."""
    size = -(-len(names) // leaves)
    lines = [f"SwitchName=leaf{leaf + 1} Nodes={','.join(names[leaf * size:(leaf + 1) * size])}" for leaf in range(leaves)]
    return "\n".join([*lines, f"SwitchName=spine Switches=leaf[1-{leaves}]", ""])


class Configuration:
    """The part of a Rig that writes its configuration."""

    @property
    def conf(self):
        return self.etc / "slurm.conf"

    @property
    def munge_socket(self):
        return self.dir / "munge" / "socket"

    def _write_config(self):
        (self.etc / "slurm.conf").write_text(self._slurm_conf())
        (self.etc / "gres.conf").write_text(self._gres_conf())
        (self.etc / "plugstack.conf").write_text(self.plugstack.format(plugins=self.plugins, etc=self.etc, run=self.run_dir))
        if self.proctrack == "cgroup" or self.version >= (23, 11):
            (self.etc / "cgroup.conf").write_text(self._cgroup_conf())
        if self.topology is not None:
            (self.etc / "topology.conf").write_text(self.topology)
        if self.policy is not None:
            (self.etc / "railhead.toml").write_text(self.policy)
        for name, text in self.files.items():
            (self.etc / name).write_text(text)

    def _slurm_conf(self):
        plugin_dir = ":".join(filter(None, [str(self.plugins or ""), stock_plugin_dir()]))
        lines = [
            "ClusterName=rig",
            "SlurmctldHost=localhost",
            f"SlurmctldPort={self.port}",
            "AuthType=auth/munge",
            f"AuthInfo=socket={self.munge_socket}{',cred_expire=5' if self.node_timeout else ''}",
            "SlurmUser=root",
            "SlurmdUser=root",
            f"PluginDir={plugin_dir}",
            f"PlugStackConfig={self.etc}/plugstack.conf",
            f"StateSaveLocation={self.dir}/state",
            f"SlurmdSpoolDir={self.dir}/spool/%n",
            f"SlurmctldPidFile={self.dir}/slurmctld.pid",
            f"SlurmdPidFile={self.dir}/%n.pid",
            f"SlurmctldLogFile={self.logs}/slurmctld.log",
            f"SlurmdLogFile={self.logs}/%n.log",
            "SlurmctldDebug=debug",
            "SlurmdDebug=debug",
            f"ProctrackType=proctrack/{self.proctrack}",
            "TaskPlugin=task/affinity",
            "SelectType=select/cons_tres",
            f"SelectTypeParameters={self.select}",
            f"SchedulerParameters={self.scheduler}",
            "MpiDefault=none",
            "ReturnToService=2",
            "KillWait=2",
            # Our node lines win over what slurmd sees of the real machine.
            "SlurmdParameters=config_overrides",
        ]
        if any(group.gpus for group in self.nodes):
            lines.append("GresTypes=gpu")
        if self.topology is not None:
            lines.append(f"TopologyPlugin=topology/{'block' if 'BlockName' in self.topology else 'tree'}")
        if self.job_submit:
            lines.append("JobSubmitPlugins=railhead")
        if self.enforce:
            lines += ["AccountingStorageType=accounting_storage/slurmdbd", "AccountingStorageHost=localhost",
                      f"AccountingStoragePort={self.port + 1}", f"AccountingStoragePass={self.munge_socket}",
                      f"AccountingStorageEnforce={self.enforce}", "AccountingStorageTRES=gres/gpu"]
        if self.cloud:
            lines += ["ResumeProgram=/bin/true", "SuspendProgram=/bin/true", "SuspendTime=36000", "ResumeTimeout=36000"]
        if self.proctrack == "cgroup":
            # The freezer's folders are named by node, user and job: keep clear of another cluster's.
            self._keep("number_jobs", first=self.port * 100, count=100 * (2 + len(self.names)))
            lines.append(f"FirstJobId={self.port * 100}")
        if self.node_timeout:
            # A node is asked once in a third of the first, and waited for as long as the second says.  A job that
            # was requeued starts when the credential of its last start has expired: see cred_expire.
            lines += [f"SlurmdTimeout={self.node_timeout}", "MessageTimeout=3"]
        partitions = [self.partitions]
        if self.grace is not None:
            lines += ["PreemptType=preempt/partition_prio", "PreemptMode=REQUEUE"]
            partitions = [f"PartitionName=DEFAULT PriorityTier=1 GraceTime={self.grace}", self.partitions,
                          "PartitionName=urgent Nodes=ALL Default=NO PriorityTier=2 PreemptMode=OFF MaxTime=INFINITE State=UP"]
        lines += [self.extra, *self._node_lines(), *partitions, ""]
        return "\n".join(lines)

    def _runs(self):
        """(group, first name, last name, first port) of each run of equal nodes."""
        done = 0
        for group in self.nodes:
            names = self.names[done:done + group.count]
            yield group, f"n[{names[0][1:]}-{names[-1][1:]}]", self.port + 2 + done
            done += group.count

    def _node_lines(self):
        for group, names, port in self._runs():
            line = (f"NodeName={names} CPUs={group.cpus} Sockets={group.sockets} CoresPerSocket={group.cores} "
                    f"ThreadsPerCore={group.threads} RealMemory={group.memory}")
            if group.gpus:
                line += f" Gres=gpu:{group.gpu_type}:{group.gpus}"
            if group.features:
                line += f" Feature={group.features}"
            if self.cloud:
                yield f"{line} State=CLOUD"
            else:
                yield f"{line} NodeHostname=localhost Port=[{port}-{port + group.count - 1}]"

    def _gres_conf(self):
        def files(group):
            return "" if self.cloud else f" File=/dev/tty[0-{group.gpus - 1}]"
        return "".join(f"NodeName={names} Name=gpu Type={group.gpu_type} Count={group.gpus}{files(group)}\n"
                       for group, names, _ in self._runs() if group.gpus)

    def _cgroup_conf(self):
        if self.proctrack != "cgroup":
            return "CgroupPlugin=disabled\n"
        if self.version < (22, 11):
            return "CgroupMountpoint=/sys/fs/cgroup\nCgroupAutomount=no\n"
        return "CgroupPlugin=cgroup/v1\nCgroupMountpoint=/sys/fs/cgroup\n"
