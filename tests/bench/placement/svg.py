"""Line charts with error bars as SVG text: small, light, the same bytes for the same figures."""

import dataclasses
import html
import math

COLOURS = {"stock": "#6b7280", "--switches": "#d97706", "railhead": "#2563eb", "railhead-small": "#059669"}
OTHER_COLOUR = "#9333ea"
WIDTH, HEIGHT = 460, 290
LEFT, RIGHT, TOP, BOTTOM = 62, 14, 58, 46


@dataclasses.dataclass(frozen=True)
class Series:
    """Points (x, y, half width of the interval or nan) in order of x."""

    name: str
    points: list


@dataclasses.dataclass(frozen=True)
class Chart:
    title: str
    x_label: str
    y_label: str
    series: list
    floor: float | None = 0  # where the y axis begins; None: just below the data


def ticks(low, high, about=5):
    """Round numbers that cover low to high."""
    if high <= low:
        high = low + 1
    rough = (high - low) / about
    power = 10 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(index * step, 10) for index in range(first, last + 1)]


def _number(value):
    return f"{value:g}"


class _Scale:
    def __init__(self, low, high, begin, end):
        self.low, self.high, self.begin, self.end = low, high, begin, end

    def __call__(self, value):
        return self.begin + (value - self.low) / (self.high - self.low) * (self.end - self.begin)


def _text(x, y, text, anchor="middle", more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{html.escape(text)}</text>'


def _line(x1, y1, x2, y2, kind):
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _axes(chart, x, y, x_ticks, y_ticks):
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    yield _text(LEFT, 18, chart.title, "start", ' class="title"')
    for tick in y_ticks:
        yield _line(LEFT, y(tick), right, y(tick), "grid")
        yield _text(LEFT - 6, y(tick) + 4, _number(tick), "end")
    for tick in x_ticks:
        yield _line(x(tick), bottom, x(tick), bottom + 4, "axis")
        yield _text(x(tick), bottom + 17, _number(tick))
    yield _line(LEFT, bottom, right, bottom, "axis")
    yield _text((LEFT + right) / 2, HEIGHT - 8, chart.x_label)
    middle = (TOP + bottom) / 2
    yield _text(15, middle, chart.y_label, "middle", f' transform="rotate(-90 15 {middle:.1f})"')


def _curve(series, colour, shift, x, y):
    at = [(x(a) + shift, y(b), half) for a, b, half in series.points]
    path = " ".join(f"{a:.1f},{b:.1f}" for a, b, _ in at)
    yield f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="{path}"/>'
    for (a, b, _), (value_x, value_y, half) in zip(at, series.points):
        interval = "" if math.isnan(half) else f" ± {half:.2g}"
        if interval:
            yield (f'<line stroke="{colour}" x1="{a:.1f}" x2="{a:.1f}" y1="{y(value_y - half):.1f}" '
                   f'y2="{y(value_y + half):.1f}"/>')
        yield (f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3.5" fill="{colour}"><title>{html.escape(series.name)}: '
               f"{value_y:.4g}{interval} at {value_x:g}</title></circle>")


def _colour(series):
    """A policy has the same colour in every chart."""
    return COLOURS.get(series.name, OTHER_COLOUR)


def _legend(series):
    left = LEFT
    for line in series:
        yield f'<circle cx="{left + 4:.1f}" cy="36" r="4" fill="{_colour(line)}"/>'
        yield _text(left + 12, 40, line.name, "start")
        left += 26 + 6.8 * len(line.name)


STYLE = ("text{font:12px system-ui,sans-serif;fill:#374151}.title{font-weight:600;font-size:13px;fill:#111827}"
         ".grid{stroke:#e5e7eb}.axis{stroke:#6b7280}")


def draw(chart):
    """The chart as the text of an SVG file."""
    points = [point for line in chart.series for point in line.points]
    ends = [value for _, y, half in points for value in ((y - half, y + half) if half == half else (y,))]
    x_ticks = sorted({point[0] for point in points})
    low = min(ends) if chart.floor is None else min(chart.floor, *ends)
    y_ticks = ticks(low, max(ends))
    margin = (x_ticks[-1] - x_ticks[0]) * 0.06 or 1
    x = _Scale(x_ticks[0] - margin, x_ticks[-1] + margin, LEFT, WIDTH - RIGHT)
    y = _Scale(y_ticks[0], y_ticks[-1], HEIGHT - BOTTOM, TOP)
    marks = [*_axes(chart, x, y, x_ticks, y_ticks), *_legend(chart.series)]
    for index, line in enumerate(chart.series):
        marks += _curve(line, _colour(line), (index - (len(chart.series) - 1) / 2) * 4, x, y)
    body = "\n".join(marks)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
            f'role="img">\n<title>{html.escape(chart.title)}</title>\n<style>{STYLE}</style>\n'
            f'<rect width="100%" height="100%" fill="#ffffff"/>\n{body}\n</svg>\n')
