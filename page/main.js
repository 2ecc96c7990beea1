// Draws the page, top to bottom.
function drawHead() {
  document.title = data.title;
  byId("title").textContent = data.title;
  byId("footer").append(data.made_by, ". Charts by uPlot. This file asks no network for anything.");
  for (const section of document.querySelectorAll("main > section[id]")) {
    const title = section.querySelector("h2");
    if (title) {
      byId("contents").append(make("a", { href: `#${section.id}` }, title.textContent));
    }
  }
}

startTheme();
drawHead();
drawSummary();
startFilter();
drawFindings();
drawWaterfall();
drawSteps();
drawTables();
drawRanks();
drawPlacement();
drawChecked();
drawFiles();
startPrint();
performance.mark("railhead-drawn");
