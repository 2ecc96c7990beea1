"""From results to figures: each run's own, their mean over runs with an interval, and the aims."""

import collections
import dataclasses
import math
import statistics

LEAF = 16  # jobs below it are small
FIGURES = {  # name -> (heading, unit, decimals); the waits are means but for the 95th percentile
    "minimal": ("minimal", "%", 1), "excess": ("wide", "", 2), "wait": ("wait", "s", 2), "wait_p95": ("p95", "s", 1),
    "wait_small": ("small", "s", 1), "wait_single": ("single", "s", 1), "wait_large": ("large", "s", 1),
    "wait_nodes": ("/node", "s", 1),
    "completion": ("done in", "s", 2), "completion_nodes": ("by nodes", "s", 2),
}
# Two-sided 95 % points of Student's t for 1 to 30 degrees of freedom.
T95 = [12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13,
       2.12, 2.11, 2.10, 2.09, 2.09, 2.08, 2.07, 2.07, 2.06, 2.06, 2.06, 2.05, 2.05, 2.05, 2.04]


@dataclasses.dataclass(frozen=True)
class Estimate:
    """A mean and half the width of its 95 % interval; `half` is nan for a single run."""

    mean: float
    half: float

    @property
    def low(self):
        return self.mean - self.half

    @property
    def high(self):
        return self.mean + self.half


def estimate(values):
    count = len(values)
    if count < 2:
        return Estimate(values[0] if values else math.nan, math.nan)
    t = T95[count - 2] if count - 2 < len(T95) else 1.96
    return Estimate(statistics.fmean(values), t * statistics.stdev(values) / math.sqrt(count))


def over_seeds(points, values):
    """The estimate over seeds.  Runs of one seed at several loads share their jobs, so they count as one value."""
    by_seed = collections.defaultdict(list)
    for point, value in zip(points, values):
        by_seed[point[3]].append(value)
    return estimate([mean(values) for values in by_seed.values()])


def percentile(values, share):
    """The least value that `share` of the values do not exceed."""
    return sorted(values)[max(math.ceil(share * len(values)) - 1, 0)]


def started(result):
    return [row for row in result["jobs"] if len(row) > 4]


def refused(result):
    return {row[0] for row in result["jobs"] if len(row) == 4}


def run_figures(result):
    """The figures of one run, by the names of FIGURES."""
    rows = started(result)
    wide = [row for row in rows if row[1] > 1]
    return {
        "minimal": 100 * mean(row[6] == row[7] for row in wide),
        "excess": mean(row[6] - row[7] for row in wide),
        "wait": mean(row[4] for row in rows),
        "wait_p95": percentile([row[4] for row in rows], 0.95),
        "wait_small": mean(row[4] for row in wide if row[1] < LEAF),
        "wait_single": mean(row[4] for row in rows if row[1] == 1),
        "wait_large": mean(row[4] for row in wide if row[1] >= LEAF),
        "wait_nodes": mean_by_nodes(rows, 4),
        "completion": mean(row[5] for row in rows),
        "completion_nodes": mean_by_nodes(rows, 5),
    }


def mean(values):
    values = list(values)
    return statistics.fmean(values) if values else math.nan


def mean_by_nodes(rows, column):
    """The mean of a column in which a job counts as often as it has nodes."""
    return sum(row[column] * row[1] for row in rows) / sum(row[1] for row in rows) if rows else math.nan


class Table:
    """Results by policy and point; a point is (mix, slowdown, load, seed)."""

    def __init__(self, results):
        self.results = results
        self.runs = collections.defaultdict(dict)
        self.refusals = collections.defaultdict(dict)
        for result in results:
            point = (result["mix"], result["slowdown"], result["load"], result["seed"])
            self.runs[result["policy"]][point] = run_figures(result)
            self.refusals[point][result["policy"]] = refused(result)

    def policies(self):
        """Stock first, then --switches, then the others by name."""
        return sorted(self.runs, key=lambda name: (name != "stock", name != "switches", name))

    def points(self, policy, **wanted):
        """The points of a policy whose mix, slowdown, load and seed are as wanted."""
        names = ("mix", "slowdown", "load", "seed")
        return [point for point in sorted(self.runs[policy])
                if all(point[names.index(name)] == value for name, value in wanted.items())]

    def values(self, policy, figure, points):
        return [self.runs[policy][point][figure] for point in points]

    def of(self, policy, figure, **wanted):
        points = self.points(policy, **wanted)
        return over_seeds(points, self.values(policy, figure, points))

    def shared(self, policies, **wanted):
        """The points that all of the policies have."""
        return sorted(set.intersection(*(set(self.points(policy, **wanted)) for policy in policies)))

    def difference(self, one, other, figure, **wanted):
        """one - other, run by run at the same seeds."""
        points = self.shared([one, other], **wanted)
        return over_seeds(points, [a - b for a, b in zip(self.values(one, figure, points), self.values(other, figure, points))])

    def ratio(self, one, other, figure, **wanted):
        """The mean of one over that of the other, at the same seeds; the interval is that of the difference."""
        points = self.shared([one, other], **wanted)
        base = mean(self.values(other, figure, points))
        change = self.difference(one, other, figure, **wanted)
        return Estimate(1 + change.mean / base, change.half / base)

    def distinct(self, index):
        return sorted({point[index] for runs in self.runs.values() for point in runs})
