// Elements from text: every text of the report goes through `text`, none of it is ever read as HTML.

const CONTROLS =
  "\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f";
const HALVES = "[\\ud800-\\udbff](?![\\udc00-\\udfff])|(?<![\\ud800-\\udbff])[\\udc00-\\udfff]";
const HIDDEN = new RegExp(`[${CONTROLS}\\ufeff\\ufff9-\\ufffb]|${HALVES}`, "g");

/** The code of a character as ⟨U+202E⟩, so that what cannot be seen, or moves other text, can be read. */
function codeOf(character) {
  return `⟨U+${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`;
}

/** Text as nodes; characters that cannot be seen become marks. */
export function text(value) {
  const plain = String(value);
  const part = document.createDocumentFragment();
  let from = 0;
  for (const match of plain.matchAll(HIDDEN)) {
    part.append(plain.slice(from, match.index));
    const mark = document.createElement("span");
    mark.className = "hidden-character";
    mark.textContent = codeOf(match[0]);
    part.append(mark);
    from = match.index + match[0].length;
  }
  part.append(plain.slice(from));
  return part;
}

/** The same as one string, for attributes and options. */
export function plainText(value) {
  return String(value).replace(HIDDEN, codeOf);
}

const isLeftOut = (value) => value === null || value === undefined || value === false;

/** An element with attributes and children; strings become text, null and false are left out. */
export function el(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (isLeftOut(value)) continue;
    if (key === "on") for (const [event, call] of Object.entries(value)) element.addEventListener(event, call);
    else if (key === "style")
      for (const [property, setting] of Object.entries(value)) element.style.setProperty(property, setting);
    else element.setAttribute(key, value === true ? "" : plainText(value));
  }
  append(element, children);
  return element;
}

function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (isLeftOut(child)) continue;
    element.append(child instanceof Node ? child : text(child));
  }
}

/** Put new children in place of the old ones. */
export function fill(element, ...children) {
  element.replaceChildren();
  append(element, children);
  return element;
}

const LONG = 24;

/** A name, which may break behind the marks that join its parts, and within parts that are very long. */
export function named(name) {
  const parts = plainText(name)
    .split(/(?<=[_/:.\-])(?=\w)/)
    .flatMap((part) => part.match(new RegExp(`.{1,${LONG}}`, "gsu")) ?? []);
  return el(
    "bdi",
    { class: "named" },
    parts.map((part, at) => [at ? document.createElement("wbr") : null, part]),
  );
}

/** Words for screen readers alone. */
export function unseen(words) {
  return el("span", { class: "unseen" }, words);
}

/** Tell screen readers what has changed. */
export function announce(words) {
  document.getElementById("status").textContent = words;
}

/** Names and what they are, as a list; those that are not known are left out. */
export function facts(rows) {
  const known = rows.filter(([, words]) => words !== "" && words !== null && words !== undefined);
  return el(
    "dl",
    { class: "facts" },
    known.map(([name, words]) => [el("dt", {}, name), el("dd", {}, words)]),
  );
}

/** A table in a box that scrolls by itself, also by the keyboard. */
export function region(label, table) {
  return el("div", { class: "scroll", role: "region", "aria-label": label, tabindex: "0" }, table);
}

/** Notes as paragraphs, each once. */
export function warnings(lines) {
  return [...new Set(lines ?? [])].map((words) => el("p", { class: "warn" }, words));
}

let fields = 0;

/** A select with its label; options are [value, words]. */
export function select(label, options, chosen, change) {
  const id = `field-${(fields += 1)}`;
  const box = el("select", { id, on: { change: () => change(box.value) } });
  for (const [value, words] of options) box.append(el("option", { value, selected: value === chosen }, words));
  return el("span", { class: "pick" }, el("label", { for: id }, label), box);
}

/** A command with a button that copies it. */
export function command(line) {
  if (!line) return el("p", { class: "quiet" }, "The record does not say which command made this run.");
  const button = el("button", { type: "button", class: "plain copy" }, "Copy");
  button.addEventListener("click", async () => {
    const done = await copy(line);
    button.textContent = done ? "Copied" : "Select it";
    announce(done ? "Command copied" : "The browser does not let this page copy");
    setTimeout(() => (button.textContent = "Copy"), 2000);
  });
  return el("div", { class: "command" }, el("code", {}, line), button);
}

async function copy(line) {
  try {
    await navigator.clipboard.writeText(line);
    return true;
  } catch {
    return copyBySelection(line);
  }
}

// Pages from disk have no clipboard in some browsers; a selected text can still be copied.
function copyBySelection(line) {
  const box = el("textarea", { class: "unseen", "aria-hidden": "true" });
  box.value = line;
  document.body.append(box);
  box.select();
  try {
    return document.execCommand("copy");
  } finally {
    box.remove();
  }
}
