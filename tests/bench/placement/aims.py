"""What Railhead is to reach, each aim by name, and whether the results say that it does."""

import dataclasses
import math

from figures import Estimate, over_seeds


@dataclasses.dataclass(frozen=True)
class Verdict:
    """An aim at one slowdown: `margin` is what is left to the bound, and must not be negative."""

    aim: str
    slowdown: float
    says: str
    margin: Estimate

    @property
    def word(self):
        if math.isnan(self.margin.mean):
            return "no data"
        word = "pass" if self.margin.mean >= 0 else "FAIL"
        certain = self.margin.low > 0 or self.margin.high < 0
        return word if certain else f"{word}, unsure"


def _margin(bound, value):
    """bound - value"""
    return Estimate(bound - value.mean, value.half)


def _minimal(table, policy, **wanted):
    value = table.of(policy, "minimal", **wanted)
    return f"{value.mean:.1f} % of multi-node jobs", Estimate(value.mean - 99, value.half)


def _extra(figure):
    def check(table, policy, **wanted):
        points = table.shared([policy, "stock", "switches"], **wanted)
        stock, switches, ours = (table.values(name, figure, points) for name in ("stock", "switches", policy))
        left = over_seeds(points, [0.75 * (b - a) - (c - a) for a, b, c in zip(stock, switches, ours)])
        extra = [over_seeds(points, [b - a for a, b in zip(stock, theirs)]) for theirs in (switches, ours)]
        return f"{extra[1].mean:+.2f} s, of --switches {extra[0].mean:+.2f} s", left
    return check


def _bound(other, figure, bound):
    def check(table, policy, **wanted):
        value = table.ratio(policy, other, figure, **wanted)
        return f"{100 * (value.mean - 1):+.1f}±{100 * value.half:.1f} % of {other}'s", _margin(bound, value)
    return check


AIMS = [  # name, least and most slowdown at which it must hold, how it is checked
    ("99 % at minimal span", 0.1, 1, _minimal),
    ("3/4 of the extra wait", 0.1, 1, _extra("wait")),
    ("the same by nodes", 0.1, 1, _extra("wait_nodes")),
    ("completion, 1 % at most", 0, 0, _bound("stock", "completion", 1.01)),
    ("completion, stock", 0.05, 1, _bound("stock", "completion", 1)),
    ("completion, --switches", 0.05, 1, _bound("switches", "completion", 1)),
    ("by nodes, stock", 0.05, 1, _bound("stock", "completion_nodes", 1)),
    ("by nodes, --switches", 0.05, 1, _bound("switches", "completion_nodes", 1)),
    ("wait of small, 5 %", 0, 1, _bound("stock", "wait_small", 1.05)),
    ("wait of single, 5 %", 0, 1, _bound("stock", "wait_single", 1.05)),
]


def verdicts(table, policy, mix):
    """Each aim at each slowdown that it is about; loads and seeds together."""
    found = []
    for name, least, most, check in AIMS:
        for slowdown in table.distinct(1):
            if least <= slowdown <= most and table.shared([policy, "stock", "switches"], mix=mix, slowdown=slowdown):
                says, margin = check(table, policy, mix=mix, slowdown=slowdown)
                found.append(Verdict(name, slowdown, says, margin))
    return found


def refusals_differ(table):
    """The points at which a policy refused other jobs than stock did: (point, policy)."""
    return [(point, policy) for point, by_policy in sorted(table.refusals.items()) if "stock" in by_policy
            for policy, jobs in by_policy.items() if jobs != by_policy["stock"]]
