// The scores of a task: a table whose last column draws every interval on one scale, and a table of all values.

import { el, facts, fill, named, region, select, unseen } from "./dom.js";
import { cellAt, columnOf, count, interval, modelName, pValue, rankRange, shown } from "./data.js";
import { openDetails } from "./detail.js";
import { sortable } from "./tables.js";

/** The section of scores of a task page. */
export function scores(page) {
  const place = el("div");
  const options = page.metrics.map((row, at) => [String(at), label(row)]);
  const first = startRow(page);
  const pick = select("Value", options, String(first), (at) => fill(place, forest(page, page.metrics[Number(at)])));
  fill(place, forest(page, page.metrics[first]));
  return [options.length > 1 ? el("div", { class: "filters" }, pick) : null, place];
}

function startRow(page) {
  const main = columnOf(page.columns[0]);
  const found = page.metrics.findIndex((row) => row.metric === main.metric && row.value === main.value);
  return Math.max(0, found);
}

const label = (row) => (row.metric === row.value ? row.value : `${row.metric} ${row.value}`);
const arrow = (isUp) => [
  el("span", { "aria-hidden": "true" }, isUp ? " ↑" : " ↓"),
  unseen(isUp ? ", higher is better" : ", lower is better"),
];

/** The column of the overview that a value stands in, if it stands in one. */
function columnFor(page, row) {
  return page.columns
    .map(columnOf)
    .find((one) => one.metric === row.metric && one.value === row.value && one.signature === row.signature);
}

function forest(page, row) {
  const column = columnFor(page, row);
  const lines = page.models
    .map((model, at) => ({ model, scored: row.values[at], cell: column ? cellAt(model, column.place) : null }))
    .filter((line) => line.scored)
    .sort((a, b) => byValue(a.scored[0], b.scored[0], row.up));
  const drawn = lines.map((line) => line.scored);
  const plot = {
    row,
    column,
    scale: scaleOf(drawn, row.display),
    best: lines.find((line) => line.cell?.best)?.scored ?? drawn[0],
  };
  const table = el(
    "table",
    { class: "forest" },
    el("caption", { class: "unseen" }, `${label(row)} of every model on ${page.title}, with intervals`),
    el("thead", {}, forestHead(plot)),
    el(
      "tbody",
      {},
      lines.map((line) => forestRow(line, plot)),
    ),
  );
  openDetails(table);
  sortable(table, {
    columnDefs: [
      { targets: [1, 2], type: "score" },
      { targets: 3, orderable: false },
    ],
  });
  const signature = el(
    "p",
    { class: "signature" },
    el("span", { class: "quiet" }, "Signature "),
    el("code", {}, row.signature),
  );
  return [region(`Scores: ${label(row)}`, table), signature];
}

function forestHead({ row, column, scale }) {
  const head = (content, kind = "num") => el("th", { scope: "col", class: kind }, content);
  return el(
    "tr",
    {},
    head("Model", "name"),
    head([row.value, row.display[1] ? ` ${row.display[1]}` : "", arrow(row.up)]),
    head("Interval"),
    head(axis(scale, row.display), "axis"),
    column ? [head("Rank"), head("p against the best")] : null,
    head("Examples"),
  );
}

function forestRow({ model, scored, cell }, { row, column, scale, best }) {
  const [value, low, high, n] = scored;
  const mark = markOf(cell);
  const words = shown(value, row.display);
  return el(
    "tr",
    { class: cell && !cell.ok ? "apart" : null },
    el("th", { scope: "row", class: "name" }, named(modelName(model))),
    el(
      "td",
      { class: `num ${mark}`, "data-order": value ?? "" },
      column ? valueButton(model, column, cell, words) : words,
    ),
    el("td", { class: "num quiet", "data-order": low ?? "" }, interval(low, high, row.display)),
    el("td", { class: "axis", "aria-hidden": "true" }, bar(scored, scale, best)),
    column ? rankCells(cell) : null,
    el("td", { class: "num quiet" }, count(n)),
  );
}

const markOf = (cell) => (cell?.best ? "best" : cell?.tied ? "tied" : "");
const MARK_WORDS = { best: ", best", tied: ", not significantly worse than the best" };

/** A value that opens its details, with its marks in form and in words. */
function valueButton(model, column, cell, words) {
  const mark = markOf(cell);
  const noted = cell?.sign;
  const kind = noted === "i" ? "mark note telling" : "mark note";
  const note = noted ? el("span", { class: kind, "aria-hidden": "true" }, noted) : null;
  const sign = mark ? el("span", { class: `mark ${mark}`, "aria-hidden": "true" }) : null;
  return el(
    "button",
    { type: "button", class: "cell", "data-m": model, "data-c": column.place },
    el("span", { class: "value" }, note, words, sign),
    mark ? unseen(MARK_WORDS[mark]) : null,
    noted ? unseen(noted === "i" ? ", has notes" : ", has warnings") : null,
  );
}

function rankCells(cell) {
  return [
    el("td", { class: "num", "data-order": cell?.rank?.[0] ?? "" }, rankRange(cell?.rank)),
    el("td", { class: "num", "data-order": cell?.p ?? "" }, cell?.best ? "best" : pValue(cell?.p)),
  ];
}

function byValue(a, b, isUp) {
  if (a === null || b === null) return (a === null) - (b === null);
  return isUp ? b - a : a - b;
}

/** Ends and ticks of a scale that all values and intervals fit on. */
export function scaleOf(values, display) {
  const ends = values.flatMap((one) => (one ? [one[0], one[1], one[2]] : [])).filter((end) => end !== null);
  let [low, high] = [Math.min(...ends), Math.max(...ends)];
  if (!ends.length) [low, high] = [0, 1];
  if (low === high) [low, high] = [low - 1, high + 1];
  const step = niceStep((high - low) / 4, display[0]);
  const from = Math.floor(low / step) * step;
  const to = Math.ceil(high / step) * step;
  const ticks = [];
  for (let at = 0; from + at * step <= to + step / 1e6; at += 1) ticks.push(from + at * step);
  return { low: from, high: to, ticks };
}

function niceStep(rough, digits) {
  const power = 10 ** Math.floor(Math.log10(rough));
  const nice = [1, 2, 5, 10].find((factor) => factor * power >= rough) * power;
  return Math.max(nice, 10 ** -digits);
}

const share = (value, scale) => `${(100 * (value - scale.low)) / (scale.high - scale.low)}%`;

function axis(scale, display) {
  const ticks = scale.ticks.map((tick) =>
    el("span", { style: { left: share(tick, scale) } }, shortTick(tick, scale, display)),
  );
  return [unseen("Interval drawn"), el("span", { class: "ticks", "aria-hidden": "true" }, ticks)];
}

function shortTick(tick, scale, display) {
  const step = scale.ticks[1] - scale.ticks[0];
  const digits = Math.max(0, Math.min(display[0], -Math.floor(Math.log10(step) + 1e-9)));
  return shown(tick, [digits]);
}

function bar([value, low, high], scale, best) {
  const line = (at, kind) => el("span", { class: kind, style: { left: share(at, scale) } });
  const parts = scale.ticks.map((tick) => line(tick, "grid"));
  if (best && best[0] !== null) parts.push(line(best[0], "grid top"));
  if (low !== null && high !== null) {
    const right = `calc(100% - ${share(high, scale)})`;
    parts.push(el("span", { class: "whisker", style: { left: share(low, scale), right } }));
  }
  if (value !== null) parts.push(line(value, "dot"));
  return el("span", { class: "bar-area" }, parts);
}

/** Every value of a task for every model. */
export function allValues(page) {
  const place = el("div");
  const others = page.metrics.filter((row) => !row.main).length;
  const draw = (all) =>
    fill(
      place,
      valueTable(
        page,
        page.metrics.filter((row) => row.main || all),
      ),
    );
  draw(!page.metrics.some((row) => row.main));
  const box = el("input", { type: "checkbox", on: { change: () => draw(box.checked) } });
  return [
    others && others < page.metrics.length
      ? el(
          "div",
          { class: "filters" },
          el("label", { class: "chip" }, box, el("span", {}, `all ${page.metrics.length} values`)),
        )
      : null,
    place,
    el("details", {}, el("summary", {}, "Signatures"), signatures(page)),
  ];
}

function signatures(page) {
  const found = new Map(page.metrics.map((row) => [`${row.metric}\n${row.signature}`, row]));
  return facts([...found.values()].map((row) => [row.metric, el("span", { class: "mono" }, row.signature)]));
}

function valueTable(page, rows) {
  const head = rows.map((row) =>
    el(
      "th",
      { scope: "col", class: "num" },
      row.metric !== row.value ? el("span", { class: "metric" }, row.metric, " ") : null,
      row.value,
      row.display[1] ? ` ${row.display[1]}` : "",
      arrow(row.up),
    ),
  );
  const table = el(
    "table",
    { class: "values" },
    el("caption", { class: "unseen" }, `All values of every model on ${page.title}`),
    el("thead", {}, el("tr", {}, el("th", { scope: "col", class: "name" }, "Model"), head)),
    el(
      "tbody",
      {},
      page.models.map((model, at) =>
        el(
          "tr",
          {},
          el("th", { scope: "row", class: "name" }, named(modelName(model))),
          rows.map((row) => valueCell(row.values[at], row.display)),
        ),
      ),
    ),
  );
  sortable(table, {
    columnDefs: rows.map((row, at) => ({
      targets: at + 1,
      type: "score",
      orderSequence: row.up ? ["desc", "asc"] : ["asc", "desc"],
    })),
  });
  return region("Table of all values", table);
}

function valueCell(scored, display) {
  if (!scored) return el("td", { class: "num none", "data-order": "" }, "–");
  const [value, low, high] = scored;
  return el(
    "td",
    { class: "num", "data-order": value ?? "" },
    el("span", { class: "value" }, shown(value, display)),
    " ",
    el("span", { class: "interval" }, interval(low, high, display)),
  );
}
