// The scores of a task: a table whose last column draws every interval on one scale, and a table of all values.

import { el, fill, named, select, unseen } from "./dom.js";
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
  const scale = scaleOf(
    lines.map((line) => line.scored),
    row.display,
  );
  const best = lines.find((line) => line.cell?.best) ?? lines[0];
  const table = el(
    "table",
    { class: "forest" },
    el("caption", { class: "unseen" }, `${label(row)} of every model on ${page.title}, with intervals`),
    el(
      "thead",
      {},
      el(
        "tr",
        {},
        el("th", { scope: "col" }, "Model"),
        el("th", { scope: "col", class: "num" }, row.value, row.display[1] ? ` ${row.display[1]}` : "", arrow(row.up)),
        el("th", { scope: "col", class: "num" }, "Interval"),
        el("th", { scope: "col", class: "axis" }, axis(scale, row.display)),
        column ? el("th", { scope: "col", class: "num" }, "Rank") : null,
        column ? el("th", { scope: "col", class: "num" }, "p against the best") : null,
        el("th", { scope: "col", class: "num" }, "Examples"),
      ),
    ),
    el(
      "tbody",
      {},
      lines.map((line) => forestRow(line, row, scale, column, best)),
    ),
  );
  const area = el(
    "div",
    { class: "scroll", role: "region", "aria-label": `Scores: ${label(row)}`, tabindex: "0" },
    table,
  );
  openDetails(table);
  sortable(table, {
    columnDefs: [
      { targets: [1, 2], type: "score" },
      { targets: 3, orderable: false },
    ],
  });
  return [
    area,
    el("p", { class: "signature" }, el("span", { class: "quiet" }, "Signature "), el("code", {}, row.signature)),
  ];
}

function forestRow({ model, scored, cell }, row, scale, column, best) {
  const [value, low, high, n] = scored;
  const words = shown(value, row.display);
  const mark = cell?.best ? "best" : cell?.tied ? "tied" : null;
  const isApart = cell && cell.v !== undefined && !cell.ok;
  const notes = cell?.notes?.length;
  const inner = [
    notes ? el("span", { class: "mark note", "aria-hidden": "true" }, "!") : null,
    words,
    mark ? el("span", { class: `mark ${mark}`, "aria-hidden": "true" }) : null,
  ];
  const hidden = [
    mark === "best" ? unseen(", best") : mark ? unseen(", not significantly worse than the best") : null,
    notes ? unseen(", has notes") : null,
  ];
  return el(
    "tr",
    { class: isApart ? "apart" : null },
    el("th", { scope: "row" }, named(modelName(model))),
    el(
      "td",
      { class: `num ${mark ?? ""}`, "data-order": value ?? "" },
      column
        ? el(
            "button",
            { type: "button", class: "cell", "data-m": model, "data-c": column.place },
            el("span", { class: "value" }, inner),
            hidden,
          )
        : words,
    ),
    el("td", { class: "num quiet", "data-order": low ?? "" }, interval(low, high, row.display)),
    el("td", { class: "axis", "aria-hidden": "true" }, bar(scored, scale, best.scored)),
    column ? el("td", { class: "num", "data-order": cell?.rank?.[0] ?? "" }, rankRange(cell?.rank)) : null,
    column ? el("td", { class: "num", "data-order": cell?.p ?? "" }, cell?.best ? "best" : pValue(cell?.p)) : null,
    el("td", { class: "num quiet" }, count(n)),
  );
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
  const parts = scale.ticks.map((tick) => el("span", { class: "grid", style: { left: share(tick, scale) } }));
  if (best?.[0] !== null && best) parts.push(el("span", { class: "grid top", style: { left: share(best[0], scale) } }));
  if (low !== null && high !== null) {
    parts.push(
      el("span", { class: "whisker", style: { left: share(low, scale), right: `calc(100% - ${share(high, scale)})` } }),
    );
  }
  if (value !== null) parts.push(el("span", { class: "dot", style: { left: share(value, scale) } }));
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
  const found = new Map();
  for (const row of page.metrics) found.set(`${row.metric}\n${row.signature}`, row);
  return el(
    "dl",
    { class: "facts" },
    [...found.values()].map((row) => [el("dt", {}, row.metric), el("dd", { class: "mono" }, row.signature)]),
  );
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
  return el("div", { class: "scroll", role: "region", "aria-label": "All values", tabindex: "0" }, table);
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
