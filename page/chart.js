// Charts over x, drawn by uPlot on a canvas; a keyboard does in them what a pointer does.

const axisFont = "12px system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', Arial, sans-serif";

function axis(more) {
  return {
    stroke: color("dim"),
    font: axisFont,
    labelFont: axisFont,
    labelSize: 18,
    labelGap: 0,
    grid: { stroke: color("grid"), width: 1 },
    ticks: { stroke: color("line"), width: 1 },
    ...more,
  };
}

const axisX = (more) => axis({ size: 30, ...more });
const axisY = (more) => axis({ size: 58, ...more });
const line = (label, hue, more) => ({ label, stroke: color(hue), width: 1.5, spanGaps: true, ...more });
const dots = (label, hue, more) => ({
  label,
  stroke: color(hue),
  paths: () => null,
  points: { show: true, size: 7, width: 1.5, stroke: color(hue), fill: color("page") },
  ...more,
});

/// Left and right move the cursor (with Shift by a tenth), + and - zoom about it, Escape shows all.
function moveByKey(chart, event) {
  const xs = chart.data[0];
  const last = xs.length - 1;
  const at = chart.cursor.idx ?? 0;
  const by = event.shiftKey ? Math.max(1, Math.round(last / 10)) : 1;
  const { min, max } = chart.scales.x;
  const go = (to) => {
    const idx = Math.min(last, Math.max(0, to));
    chart.setCursor({ left: chart.valToPos(xs[idx], "x"), top: chart.over.clientHeight / 2 });
  };
  const zoom = (factor) => {
    const middle = xs[at];
    const half = ((max - min) / 2) * factor;
    chart.setScale("x", { min: Math.max(xs[0], middle - half), max: Math.min(xs[last], middle + half) });
  };
  const keys = {
    ArrowLeft: () => go(at - by),
    ArrowRight: () => go(at + by),
    Home: () => go(0),
    End: () => go(last),
    "+": () => zoom(0.5),
    "-": () => zoom(2),
    Escape: () => chart.setScale("x", { min: xs[0], max: xs[last] }),
  };
  const key = keys[event.key];
  if (key && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    key();
  }
}

/// What is seen of x; null where that is all.
function zoomOf(chart) {
  const { min, max } = chart.scales.x;
  const xs = chart.data[0];
  return min > xs[0] || max < xs[xs.length - 1] ? { min, max } : null;
}

/// A chart that follows the theme and the width.  `options()` is asked for anew each time; `describe(i)` says what
/// stands at a place, for the line below the chart, which is read out.
function addChart(figure, label, options, values, describe) {
  const host = make("div", {
    class: "chart",
    tabindex: "0",
    role: "img",
    "aria-label": `${label}. Left and right read values, plus and minus zoom, Escape shows all. A table follows.`,
  });
  const readout = make("p", { class: "readout", role: "status", "aria-live": "polite" });
  figure.append(host, readout);
  let chart = null;
  host.addEventListener("keydown", (event) => moveByKey(chart, event));
  onRedraw(() => {
    const zoom = chart && zoomOf(chart);
    chart?.destroy();
    chart = new uPlot(
      {
        width: isPrinting ? paperWidth : Math.max(280, figure.clientWidth),
        height: 260,
        ...options(),
        hooks: {
          setCursor: [
            (self) => {
              readout.textContent =
                self.cursor.idx === null || self.cursor.idx === undefined ? "" : describe(self.cursor.idx);
            },
          ],
        },
      },
      values,
      host,
    );
    if (zoom) {
      chart.setScale("x", zoom);
    }
  });
}
