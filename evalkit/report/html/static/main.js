// The page starts here.

import { el, facts, fill, warnings } from "./dom.js";
import { report } from "./data.js";
import { address, onOpen, startRouting } from "./route.js";
import { startOverview } from "./overview.js";
import { figure, openTask } from "./task.js";
import { openRuns } from "./runs.js";

// Width of A4 on its side within its margins, at 96 pixels an inch.
const PAPER_PX = 1030;
const THEMES = ["system", "light", "dark"];

function startTheme() {
  const button = document.getElementById("theme");
  const use = (theme) => {
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    button.textContent = `Theme: ${theme}`;
  };
  let theme = kept() ?? "system";
  use(theme);
  button.hidden = false;
  button.addEventListener("click", () => {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    use(theme);
    keep(theme);
  });
}

// Browsers may refuse storage to pages from disk; the theme then lasts as long as the page.
function kept() {
  try {
    const theme = localStorage.getItem("evalkit-theme");
    return THEMES.includes(theme) ? theme : null;
  } catch {
    return null;
  }
}

function keep(theme) {
  try {
    localStorage.setItem("evalkit-theme", theme);
  } catch {
    return;
  }
}

function startTaskChooser() {
  const go = document.getElementById("go");
  go.addEventListener("change", () => {
    if (go.value) location.hash = address({ view: "task", task: go.value });
  });
}

function scalingFit(fit, at) {
  const about = [fit.form, fit.file].filter(Boolean).join(" · ");
  const title = el("h2", { id: `scaling-title-${at}` }, fit.title, el("span", { class: "quiet" }, ` · ${about}`));
  const parameters = el("details", {}, el("summary", {}, "Fitted parameters"), facts(fit.parameters));
  const notes = warnings(fit.notes.map(([, words]) => words));
  return el("section", { "aria-labelledby": `scaling-title-${at}` }, title, notes, figure(`scaling-${at}`), parameters);
}

// Paper does not scroll: a table that is wider than the sheet shrinks to it.
function fitPaper() {
  for (const area of document.querySelectorAll(".scroll")) {
    const zoom = Math.min(1, PAPER_PX / Math.max(1, area.scrollWidth));
    area.style.setProperty("--print-zoom", zoom.toFixed(3));
  }
}

addEventListener("beforeprint", fitPaper);
startTheme();
startTaskChooser();
startOverview();
fill(document.getElementById("overview-figures"), report.scaling.map(scalingFit));
onOpen("task", openTask);
onOpen("runs", openRuns);
startRouting();
document.documentElement.dataset.ready = "true";
