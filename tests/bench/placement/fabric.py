"""The bench's cluster: leaves of equal size, and what a job may use of them.

Nodes are numbered from 0; node i is on leaf i // leaf_size.  A two-level tree has one level at which a job can be
wider than it must be: the leaves.
"""

import dataclasses
import re


@dataclasses.dataclass(frozen=True)
class Fabric:
    leaves: int = 16
    leaf_size: int = 16

    @property
    def nodes(self):
        return self.leaves * self.leaf_size

    @property
    def width(self):
        """Digits of a node's name, as the rig writes it."""
        return max(2, len(str(self.nodes)))

    def name(self, node):
        return f"n{node + 1:0{self.width}}"

    def on_leaves(self, *leaves):
        """All nodes of these leaves, numbered from 0."""
        return frozenset(node for leaf in leaves for node in range(leaf * self.leaf_size, (leaf + 1) * self.leaf_size))

    def span(self, nodes):
        """How many leaves these nodes touch."""
        return len({node // self.leaf_size for node in nodes})

    def minimal_span(self, count, usable, needed=frozenset()):
        """The fewest leaves that hold `count` of the `usable` nodes, all of `needed` among them, on an idle cluster."""
        free = [0] * self.leaves
        for node in usable:
            free[node // self.leaf_size] += 1
        fixed = {node // self.leaf_size for node in needed}
        missing = count - sum(free[leaf] for leaf in fixed)
        span = len(fixed)
        for size in sorted((free[leaf] for leaf in range(self.leaves) if leaf not in fixed), reverse=True):
            if missing <= 0:
                break
            missing -= size
            span += 1
        if missing > 0:
            raise ValueError(f"{count} nodes do not fit in {len(usable)}")
        return span


def hostlist(fabric, nodes):
    """The text of a node set: "n[001-016,049]"."""
    runs = []
    for node in sorted(nodes):
        if runs and runs[-1][1] == node - 1:
            runs[-1][1] = node
        else:
            runs.append([node, node])
    texts = [f"{a + 1:0{fabric.width}}" + (f"-{b + 1:0{fabric.width}}" if b > a else "") for a, b in runs]
    return f"n[{','.join(texts)}]"


def parse_hostlist(text):
    """The node numbers of what squeue prints for a job: "n003", "n[001-016,049]"."""
    inside = re.fullmatch(r"n\[([\d,-]+)\]|n(\d+)", text)
    if not inside:
        raise ValueError(f"not a list of the bench's nodes: {text!r}")
    found = set()
    for run in (inside[1] or inside[2]).split(","):
        first, _, last = run.partition("-")
        found.update(range(int(first) - 1, int(last or first)))
    return frozenset(found)
