// The sample browser of a task page: up to four models side by side, filtered, searched and sorted.

import { announce, el, fill, select } from "./dom.js";
import { count, modelName, report } from "./data.js";
import { remember } from "./route.js";
import { release, sortable } from "./tables.js";
import { block, MissingBlock } from "./chunks.js";
import { Examples, FILTERS, optionsOf, SORTS } from "./browse.js";
import { askedCell, headCell, outputCell, outputHead } from "./example.js";

const MOST = 4;
const ROWS = 20;

/** The section of examples of a task page, as the state of the address says. */
export class SampleBrowser {
  constructor(page, state) {
    this.page = page;
    this.models = startModels(page, state);
    this.choice = {
      only: state.get("only") ?? "",
      sort: state.get("sort") ?? "",
      which: Number(state.get("score") ?? 0) || 0,
      query: state.get("q") ?? "",
      example: state.get("example") ?? "",
      against: state.get("against") ?? "reference",
      byCharacter: state.has("unit") ? state.get("unit") === "character" : ["zh", "ja"].includes(page.language),
    };
    this.controls = el("div", { class: "filters" });
    this.place = el("div", { class: "samples" });
    this.table = null;
    this.element = el("div", {}, this.controls, this.place);
    this.load();
  }

  /** Read the blocks of the chosen models, then draw. */
  async load() {
    const { samples } = this.page;
    this.drawControls();
    fill(this.place, el("p", { class: "quiet" }, "Opening the examples …"));
    const asked = this.models.join();
    try {
      const [examples, ...sides] = await Promise.all(
        [samples.examples, ...this.models.map((model) => samples.models[model])].map((one) =>
          block(one, samples.folder),
        ),
      );
      if (asked !== this.models.join()) return;
      this.data = new Examples(this.page, examples, sides);
      this.build();
    } catch (error) {
      fill(this.place, el("p", { class: "warn" }, failure(error, samples.folder)));
    }
  }

  set(change) {
    Object.assign(this.choice, change);
    if (!("example" in change)) this.choice.example = "";
    const { only, sort, which, query, example, against, byCharacter } = this.choice;
    remember({
      models: this.models.map((model) => report.models[model].key).join("|"),
      only,
      sort,
      score: which || "",
      q: query,
      example,
      against: against === "reference" ? "" : against,
      unit: byCharacter ? "character" : "word",
    });
    this.drawRows();
  }

  drawControls() {
    const { page, models, choice } = this;
    const ready = Object.keys(page.samples.models).map(Number);
    const pickers = models.map((model, at) =>
      select(
        `Model ${"ABCD"[at]}`,
        [
          ...ready.filter((one) => one === model || !models.includes(one)).map((one) => [String(one), modelName(one)]),
          ...(models.length > 1 ? [["", "– none –"]] : []),
        ],
        String(model),
        (value) => this.choose(at, value),
      ),
    );
    const free = ready.filter((one) => !models.includes(one));
    const add =
      free.length && models.length < MOST
        ? select(
            "Beside them",
            [["", "add a model …"], ...free.map((one) => [String(one), modelName(one)])],
            "",
            (value) => this.choose(models.length, value),
          )
        : null;
    const scores = page.samples.scores.map(([metric, value], at) => [
      String(at),
      metric === value ? value : `${metric} ${value}`,
    ]);
    const search = el("input", {
      type: "search",
      value: choice.query,
      autocomplete: "off",
      on: { input: () => this.set({ query: search.value }) },
    });
    fill(
      this.controls,
      pickers,
      add,
      select("Only", optionsOf(FILTERS, models, page.samples.judged), choice.only, (only) => this.set({ only })),
      select("Sort", optionsOf(SORTS, models, page.samples.judged), choice.sort, (sort) => this.set({ sort })),
      scores.length > 1
        ? select("By", scores, String(choice.which), (which) => this.set({ which: Number(which) }))
        : null,
      el("label", { class: "search" }, el("span", {}, "Search"), search),
      this.differenceControls(),
    );
  }

  differenceControls() {
    const { page, models, choice } = this;
    if (["ner", "cws", "lm", "classification"].includes(page.kind)) return null;
    const against = [
      ["reference", "the nearest reference"],
      ...(models.length > 1 ? [["first", `the output of ${modelName(models[0])}`]] : []),
      ["", "nothing"],
    ];
    const by = [
      ["word", "words"],
      ["character", "characters"],
    ];
    return [
      select("Mark differences from", against, choice.against, (value) => this.set({ against: value })),
      select("in", by, choice.byCharacter ? "character" : "word", (value) =>
        this.set({ byCharacter: value === "character" }),
      ),
    ];
  }

  choose(at, value) {
    if (value === "" && at < this.models.length) this.models.splice(at, 1);
    else if (value !== "") this.models[at] = Number(value);
    remember({ models: this.models.map((model) => report.models[model].key).join("|") });
    this.load();
  }

  build() {
    release(this.table);
    const { models, data } = this;
    const table = el(
      "table",
      { class: "examples" },
      el(
        "caption",
        { class: "unseen" },
        `Examples of ${this.page.title} with the outputs of ${models.map(modelName).join(", ")}`,
      ),
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          el("th", { scope: "col" }, "Example"),
          el("th", { scope: "col" }, "Asked and expected"),
          models.map((model, side) => el("th", { scope: "col" }, outputHead(side, model))),
        ),
      ),
      el("tbody"),
    );
    this.found = el("p", { class: "quiet", role: "status" });
    fill(this.place, this.found, table);
    const cells = [
      (at) => headCell(data, at, this.choice.which),
      (at) => askedCell(data, at),
      ...models.map((_, side) => (at) => outputCell(data, side, at, this.choice)),
    ];
    const heads = [
      "Example",
      "Asked and expected",
      ...models.map((model, side) => `${"ABCD"[side]} · ${modelName(model)}`),
    ];
    this.table = sortable(table, {
      data: [],
      paging: true,
      pageLength: ROWS,
      lengthChange: false,
      ordering: false,
      searching: false,
      deferRender: true,
      layout: { topStart: null, topEnd: null, bottomStart: "info", bottomEnd: "paging" },
      language: { info: "_START_ to _END_ of _TOTAL_", infoEmpty: "", emptyTable: "No example is like that." },
      columns: cells.map((cell, at) => ({
        data: null,
        defaultContent: "",
        createdCell: (element, _, place) => {
          element.dataset.label = heads[at];
          fill(element, cell(place));
        },
      })),
    });
    this.drawRows();
  }

  drawRows() {
    if (!this.data) return;
    const places = this.data.select(this.choice);
    const total = this.data.examples.ids.length;
    this.table.clear().rows.add(places).draw();
    const words = this.choice.example
      ? "One example is shown."
      : `${count(places.length)} of ${count(total)} examples.`;
    fill(
      this.found,
      words,
      this.choice.example
        ? [
            " ",
            el(
              "button",
              { type: "button", class: "plain", on: { click: () => this.set({ example: "" }) } },
              "Show all",
            ),
          ]
        : null,
    );
    announce(words);
  }

  close() {
    release(this.table);
    this.table = null;
  }
}

function startModels(page, state) {
  const ready = Object.keys(page.samples.models).map(Number);
  const given = (state.get("models") ?? "")
    .split("|")
    .map((key) => report.models.findIndex((model) => model.key === key));
  const known = given.filter((model) => ready.includes(model)).slice(0, MOST);
  const best = page.pairwise[0]?.models ?? [];
  const ordered = [...best, ...ready].filter((model, at, all) => ready.includes(model) && all.indexOf(model) === at);
  return known.length ? known : ordered.slice(0, 2);
}

function failure(error, folder) {
  if (error instanceof MissingBlock) {
    const place = `The examples of this task lie in the folder ${folder} beside the page: ${error.message}.`;
    return `${place} Keep the folder with the page to read them; everything else is in the page.`;
  }
  return `The examples cannot be read: ${error.message}`;
}
