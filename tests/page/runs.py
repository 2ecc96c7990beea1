"""Runs of any size, made by chance from a seed: what their jobs would have left behind.

A node has eight ranks and a leaf 32 nodes.  Some ranks fail: they, and some after them, print warnings.
"""

import random

PER_NODE = 8
PER_LEAF = 32
FAILED = "NET/IB : Got completion from peer 10.1.0.{0}<4{0:04}> with status=12 opcode=0 len=0 vendor err 129 (Recv)"
CLOSED = "socketProgressOpt: Call to recv from 10.1.0.{0}<4{0:04}> failed : Connection reset by peer"

# Each would be markup, script or the end of a line somewhere if it were not escaped.
HOSTILE = ["</script><script>window.hacked=1</script>", "<img src=x onerror=window.hacked=1>", "&lt;b&gt; &amp;",
           "\u2028window.hacked=1\u2029", "\"'`${window.hacked=1}"]


def node_name(node):
    return f"gpu{node:04}"


def rank_lines(rank, ranks, chance):
    node, gpu = divmod(rank, PER_NODE)
    start = f"{node_name(node)}:{4000 + gpu}:{4100 + gpu} [{gpu}] NCCL"
    peer = (rank + PER_NODE) % ranks
    yield f"{start} INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eth0:10.1.0.{node % 250}<0>"
    yield f"{start} INFO Using network IB"
    for channel in range(4):
        yield f"{start} INFO Channel {channel:02}/0 : {rank}[{gpu}] -> {peer}[{gpu}] [send] via NET/IB/{gpu}/GDRDMA"
    yield f"{start} INFO Channel 00/0 : {rank}[{gpu}] -> {rank ^ 1}[{gpu ^ 1}] via P2P/CUMEM"
    yield f"{start} INFO ncclCommInitRank comm 0x55d0 rank {rank} nranks {ranks} cudaDev {gpu} nvmlDev {gpu} " \
        f"busId {gpu + 1:x}000 commId 0xabc - Init COMPLETE"
    yield f"{start} INFO Init timings - ncclCommInitRank: rank {rank} nranks {ranks} " \
        f"total {1 + chance.random():.2f} (kernels 0.1)"


def nccl_log(ranks, seed=1, failing=3, spoken="", silent=()):
    """A log of NCCL_DEBUG=INFO; `spoken` is added to each warning, ranks in `silent` print nothing."""
    chance = random.Random(seed)
    lines = []
    for rank in range(ranks):
        if rank not in silent:
            lines += rank_lines(rank, ranks, chance)
    for i, rank in enumerate(sorted(chance.sample(range(ranks), failing * 4))):
        node, gpu = divmod(rank, PER_NODE)
        text = (FAILED if i % 4 == 0 else CLOSED).format(rank % 250) + (f" {spoken}" if spoken else "")
        where = "transport/net_ib.cc:1295" if i % 4 == 0 else "misc/socket.cc:58"
        lines += ["", f"{node_name(node)}:{4000 + gpu}:{4200 + gpu} [{gpu}] {where} NCCL WARN {text}"]
    return "\n".join(lines) + "\n"


def training_log(steps, seed=1, step_ms=35000, drift=0):
    """Megatron-LM's lines: a checkpoint every 200 steps, and a level of 12 % more in the last third or a drift."""
    chance = random.Random(seed)
    lines = []
    for step in range(1, steps + 1):
        if step > 1 and step % 200 == 1:
            lines.append(f"  successfully saved checkpoint at iteration {step - 1:7} to /ckpt")
        level = 1 + drift * step / steps if drift else 1.12 if step > steps * 2 // 3 else 1
        time_ms = step_ms * level * chance.gauss(1, 0.004) + (900 if step % 200 == 1 else 0)
        loss = 9 / step ** 0.2 + chance.gauss(0, 0.01)
        lines.append(
            f" iteration {step:8}/ 100000 | consumed samples: {step * 1024:12} | "
            f"elapsed time per iteration (ms): {time_ms:.1f} | learning rate: 1.0E-04 | global batch size:  1024 | "
            f"lm loss: {loss:.6E} | number of skipped iterations:   0 | number of nan iterations:   0 |")
    return "\n".join(lines) + "\n"


def topology(nodes):
    """topology.conf of as many nodes, on leaves of 32 under one top switch."""
    lines = [f"SwitchName=leaf{at // PER_LEAF:03} Nodes=gpu[{at:04}-{min(at + PER_LEAF, nodes) - 1:04}]"
             for at in range(0, nodes, PER_LEAF)]
    return "\n".join([*lines, f"SwitchName=top Switches=leaf[000-{(nodes - 1) // PER_LEAF:03}]"]) + "\n"


def nccl_tests(nodes=2):
    """all_reduce_perf on H100s: a bus bandwidth that levels off at 330 GB/s."""
    ranks = nodes * PER_NODE
    lines = ["# nThread 1 nGpus 1 minBytes 8 maxBytes 8589934592 step: 2(factor)", "# Using devices"]
    lines += [f"#  Rank {rank:2} Group  0 Pid {5000 + rank} on {node_name(rank // PER_NODE)} device {rank % PER_NODE} "
              "[0x1b] NVIDIA H100 80GB HBM3" for rank in range(ranks)]
    lines += ["#   size   count   type   redop   root   time   algbw   busbw #wrong   time   algbw   busbw #wrong"]
    for power in range(3, 34):
        size = 2 ** power
        time_us = 32 + size / 176e3
        algbw = size / time_us / 1e3
        columns = f"{time_us:9.2f} {algbw:8.2f} {algbw * 2 * (ranks - 1) / ranks:8.2f}      0"
        lines.append(f"{size:12} {size // 4:12} float sum -1 {columns} {columns}")
    return "\n".join([*lines, "# Out of bounds values : 0 OK", "# Avg bus bandwidth    : 120.5"]) + "\n"
