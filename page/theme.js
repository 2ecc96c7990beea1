// Light or dark: as the system has it, or as was chosen on this page.
const themes = ["auto", "light", "dark"];
const systemDark = matchMedia("(prefers-color-scheme: dark)");
const redraws = []; // what has colours of its own: canvases
let theme = "auto";
let isPrinting = false;
const paperWidth = 640; // of A4 and of letter, less the margins

/// Calls `redraw` now and whenever colours or widths have changed.
function onRedraw(redraw) {
  redraws.push(redraw);
  redraw();
}

const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

function applyTheme() {
  const isDark = !isPrinting && (theme === "dark" || (theme === "auto" && systemDark.matches));
  document.documentElement.dataset.theme = isDark ? "dark" : "light";
  byId("theme").textContent = `Theme: ${theme}`;
}

function redrawAll() {
  redraws.forEach((redraw) => redraw());
}

function chooseTheme(name) {
  theme = themes.includes(name) ? name : "auto";
  applyTheme();
  redrawAll();
}

function startTheme() {
  let kept = null;
  try {
    // a file that a browser opened may have no storage
    kept = localStorage.getItem("railhead-theme");
  } catch {
    kept = null;
  }
  theme = themes.includes(kept) ? kept : "auto";
  applyTheme();
  byId("theme").addEventListener("click", () => {
    chooseTheme(themes[(themes.indexOf(theme) + 1) % themes.length]);
    try {
      localStorage.setItem("railhead-theme", theme);
    } catch {
      return; // then it is for this time
    }
  });
  systemDark.addEventListener("change", () => chooseTheme(theme));
  let width = innerWidth;
  let timer = 0;
  addEventListener("resize", () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      if (innerWidth !== width) {
        width = innerWidth;
        redrawAll();
      }
    }, 100);
  });
}
