// The address holds the whole state after #, so that a link leads to what its sender saw.

const VIEWS = ["overview", "task", "runs", "about"];
const openers = {};

export function state() {
  return new URLSearchParams(location.hash.slice(1));
}

/** The address of a state. */
export function address(values) {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) if (value) search.set(name, value);
  return `#${search}`;
}

/** Change part of the state without a new entry in the history. */
export function remember(values) {
  const now = state();
  for (const [name, value] of Object.entries(values)) {
    if (value === "" || value === null || value === undefined) now.delete(name);
    else now.set(name, value);
  }
  history.replaceState(null, "", `#${now}`);
}

/** What is called when a view is opened, with its element and the state. */
export function onOpen(view, call) {
  openers[view] = call;
}

const name = document.title;
let shownKey = null;

/** Show the view that the address names. */
export function open() {
  const now = state();
  const view = VIEWS.includes(now.get("view")) ? now.get("view") : "overview";
  for (const one of VIEWS) document.getElementById(`view-${one}`).hidden = one !== view;
  for (const link of document.querySelectorAll(".bar nav a")) {
    const isHere = link.getAttribute("href") === `#view=${view}`;
    if (isHere) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const key = `${view} ${now.get("task") ?? ""}`;
  const isOther = shownKey !== null && shownKey !== key;
  shownKey = key;
  // To the top first: what the view opens may lie further down.
  if (isOther) scrollTo(0, 0);
  const element = document.getElementById(`view-${view}`);
  openers[view]?.(element, now);
  document.title = `${element.querySelector("h1").textContent} · ${name}`;
  if (isOther) document.getElementById("main").focus({ preventScroll: true });
}

export function startRouting() {
  addEventListener("hashchange", open);
  open();
}
