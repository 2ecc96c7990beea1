// One filter for findings, nodes and ranks.  Words are parts of names, all of which have to be there; a number is also
// that of a rank.
const filterers = []; // each takes the words and says what is left: "3 of 2,048 nodes"

function onFilter(apply) {
  filterers.push(apply);
}

function applyFilter() {
  const begin = performance.now();
  const words = byId("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
  const left = filterers.map((apply) => apply(words)).filter(Boolean);
  byId("filter-count").textContent = words.length === 0 ? "" : `Shown: ${left.join(", ")}`;
  performance.measure("railhead-filter", { start: begin, end: performance.now() });
}

const hasAll = (text, words) => words.every((word) => text.includes(word));

function filterFindings(words) {
  let shown = 0;
  for (const { element, text } of findingElements) {
    element.hidden = !hasAll(text, words);
    shown += element.hidden ? 0 : 1;
  }
  return findingElements.length === 0 ? "" : `${count(shown)} of ${counted(findingElements.length, "finding")}`;
}

function startFilter() {
  onFilter(filterFindings);
  const input = byId("filter");
  input.addEventListener("input", applyFilter);
  input.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      input.value = "";
      applyFilter();
    }
  });
  document.addEventListener("keydown", (event) => {
    const isTyping = event.target instanceof HTMLElement && event.target.matches("input, textarea, select");
    if (event.key === "/" && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      input.focus();
      input.select();
    }
  });
}
