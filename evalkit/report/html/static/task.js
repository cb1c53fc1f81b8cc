// The page of one task: scores, differences, slices, errors, curves, examples, runs.

import { el, fill, region, unseen, warnings } from "./dom.js";
import { columnOf, count, KINDS, pageOf, report } from "./data.js";
import { address } from "./route.js";
import { allValues, scores } from "./forest.js";
import { differences } from "./pairs.js";
import { breakdowns, slices } from "./slices.js";
import { SampleBrowser } from "./samples.js";
import { runTable } from "./runs.js";
import { sortable } from "./tables.js";

let browser = null;
let openKey = null;

/** Show the task that the address names. */
export function openTask(element, state) {
  const page = pageOf(state.get("task"));
  document.getElementById("go").value = page?.key ?? "";
  if (!page) {
    openKey = null;
    fill(element, el("h1", {}, "No such task"), el("p", {}, "This report has no task of that name. Choose one above."));
    return;
  }
  const key = [page.key, state.get("example"), state.get("models")].join();
  if (key !== openKey) draw(element, page, state);
  openKey = key;
  const part = state.get("part");
  if (part) document.getElementById(`part-${part}`)?.scrollIntoView();
}

function draw(element, page, state) {
  browser?.close();
  browser = page.samples ? new SampleBrowser(page, state) : null;
  const parts = [
    ["scores", "Scores", scores(page)],
    ["differences", "Differences between models", differences(page)],
    ["values", "All values", allValues(page)],
    ["slices", "By length, type and label", page.slices.length ? slices(page) : null],
    ["errors", "Errors", page.breakdowns.length ? breakdowns(page) : null],
    ["curves", "Learning curves", curves(page)],
    [
      "samples",
      "Examples",
      browser ? browser.element : el("p", { class: "quiet" }, "The report was made without examples."),
    ],
    ["runs", "Runs", runs(page)],
  ].filter(([, , content]) => content);
  fill(
    element,
    head(page),
    el(
      "nav",
      { class: "parts", "aria-label": "Parts of this page" },
      parts.map(([name, title]) => el("a", { href: address({ view: "task", task: page.key, part: name }) }, title)),
    ),
    parts.map(([name, title, content]) =>
      el(
        "section",
        { id: `part-${name}`, "aria-labelledby": `title-${name}` },
        el("h2", { id: `title-${name}` }, title),
        content,
      ),
    ),
  );
}

function head(page) {
  const notes = [...page.notes, ...page.columns.flatMap((key) => columnOf(key).notes)];
  const { data } = page;
  const about = [
    KINDS[page.kind] ?? page.kind,
    page.spoken,
    `version ${page.version}`,
    data.n ? `${count(Number(data.n))} examples` : null,
    data.split ? `split ${data.split}` : null,
  ];
  const source = [data.source, data.revision, data.digest ? `digest ${data.digest}` : null].filter(Boolean);
  return [
    el("h1", {}, page.title),
    el("p", { class: "quiet" }, about.filter(Boolean).join(" · ")),
    el("p", { class: "quiet" }, "Data: ", source.join(" · ")),
    warnings(notes.map(([, words]) => words)),
  ];
}

function curves(page) {
  const found = page.columns.filter((key) => report.curves.some((curve) => curve.column === key));
  if (!found.length) return null;
  return found.map((key) => [
    figure(`curve-${key}`),
    curveTable(
      columnOf(key),
      report.curves.filter((curve) => curve.column === key),
    ),
  ]);
}

function curveTable(column, lines) {
  const rows = lines.flatMap((line) =>
    line.points.map(([, steps, tokens, value, low, high]) => [
      line.training,
      line.by === "steps" ? steps : tokens,
      value,
      low,
      high,
    ]),
  );
  return el(
    "details",
    {},
    el("summary", {}, "The numbers of the figure"),
    el(
      "div",
      { class: "scroll" },
      el(
        "table",
        {},
        el("caption", { class: "unseen" }, `${column.value} over training`),
        el(
          "thead",
          {},
          el(
            "tr",
            {},
            ["Training run", lines[0].by.replace("_", " "), column.value, "Low", "High"].map((name) =>
              el("th", { scope: "col" }, name),
            ),
          ),
        ),
        el(
          "tbody",
          {},
          rows.map(([name, ...numbers]) =>
            el(
              "tr",
              {},
              el("th", { scope: "row" }, name),
              numbers.map((number) => el("td", { class: "num" }, number === null ? "–" : count(number))),
            ),
          ),
        ),
      ),
    ),
  );
}

/** A figure that the page holds as a template. */
export function figure(key) {
  const template = document.getElementById(key);
  return template ? el("figure", {}, template.content.cloneNode(true)) : unseen("");
}

function runs(page) {
  const table = runTable(report.runs.filter((run) => run.page === page.key));
  const area = region("Table of the runs of this task", table);
  sortable(table, { columnDefs: [{ targets: [4, 6], orderable: false }] });
  return area;
}
