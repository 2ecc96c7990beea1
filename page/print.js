// On paper: light, everything open, and the ranks that warned in place of a grid that scrolls.
function printedRanks() {
  const most = 100;
  const all = [];
  for (let i = 0; i < rankCount; ++i) {
    if (warningOf(i) && !warningOf(i).harmless) {
      all.push(i);
    }
  }
  const cut = all.length > most ? `, of which the first ${most}` : "";
  return make(
    "div",
    { id: "printed-ranks" },
    makeTable(
      `${counted(rankCount, "rank")}, ${count(all.length)} with warnings${cut}`,
      ["#Rank", "Host", "#GPU", "#Warnings", "First warning", "At"],
      all
        .slice(0, most)
        .map((i) => [
          textIn(rankColumns[0], i),
          hostOf(i),
          textIn(rankColumns[3], i),
          String(ranks.warned[i]),
          warningOf(i).kind,
          placeOf(i),
        ]),
    ),
  );
}

function startPrint() {
  let opened = [];
  byId("print").addEventListener("click", () => print());
  addEventListener("beforeprint", () => {
    isPrinting = true;
    opened = [...document.querySelectorAll(".finding details:not([open])")];
    opened.forEach((one) => {
      one.open = true;
    });
    if (rankCount > 0) {
      byId("ranks").append(printedRanks());
    }
    applyTheme();
    redrawAll();
  });
  addEventListener("afterprint", () => {
    isPrinting = false;
    opened.forEach((one) => {
      one.open = false;
    });
    byId("printed-ranks")?.remove();
    applyTheme();
    redrawAll();
  });
}
