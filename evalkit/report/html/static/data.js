// The report as the page holds it, and how its numbers are written.

export const report = JSON.parse(document.getElementById("report").textContent);

export const KINDS = {
  mt: "Translation",
  summarization: "Summarization",
  qa: "Question answering",
  ner: "Named entities",
  cws: "Word segmentation",
  lm: "Language modelling",
  classification: "Classification",
};

const cells = new Map(report.cells.map((cell) => [`${cell.m},${cell.c}`, cell]));
const runs = new Map(report.runs.map((run) => [run.id, run]));
const pages = new Map(report.pages.map((page) => [page.key, page]));
const columns = new Map(report.columns.map((column, place) => [column.key, { ...column, place }]));

export const cellAt = (model, column) => cells.get(`${model},${column}`);
export const runOf = (id) => runs.get(id);
export const pageOf = (key) => pages.get(key);
export const columnOf = (key) => columns.get(key);
export const modelName = (place) => report.models[place].name;

/** A number with the decimals of its display, [digits, unit]. */
export function shown(value, [digits], signed = false) {
  if (value === null || value === undefined) return "–";
  const words = Math.abs(value).toFixed(digits);
  const isZero = !/[1-9]/.test(words);
  if (isZero) return words;
  return value < 0 ? `−${words}` : signed ? `+${words}` : words;
}

export function interval(low, high, display, signed = false) {
  if (low === null || high === null || low === undefined || high === undefined) return "";
  return `[${shown(low, display, signed)}, ${shown(high, display, signed)}]`;
}

export function rankRange(rank) {
  if (!rank) return "";
  const [place, low, high] = rank;
  if (low === null || high === null || low === high) return String(low ?? place);
  return `${low}–${high}`;
}

export function pValue(p) {
  if (p === null || p === undefined) return "";
  return p < 0.001 ? "<0.001" : p.toFixed(3);
}

export const count = (number) => number.toLocaleString("en");

/** The language of a text by its letters, for its type; the given one where they do not tell. */
export function languageOf(words, given) {
  if (/[\u3040-\u30ff]/.test(words)) return "ja";
  if (/[\u3400-\u9fff]/.test(words)) return given === "ja" ? "ja" : "zh";
  return given === "zh" || given === "ja" ? "en" : given;
}
