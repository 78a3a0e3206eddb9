// Which view is shown, and in which state: the address says it, as in #beam?model=english&step=7.

import { mistake, put } from "./dom.js";

const VIEWS = { annotate: "./annotate.js", beam: "./beam.js", model: "./model.js", training: "./training.js", compare: "./compare.js" };
const THEMES = [["", "◐", "the system's"], ["light", "☀", "light"], ["dark", "☾", "dark"]];

let shown = null; // the view on the page: { name, update, leave, key }
let own = ""; // the address that this page wrote itself

export function read() {
  const [name, rest] = location.hash.replace(/^#/, "").split(/\?(.*)/s);
  return { name: name in VIEWS ? name : "annotate", state: Object.fromEntries(new URLSearchParams(rest || "")) };
}

function address(name, state) {
  const given = Object.entries(state).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  return `#${name}${given.length ? `?${new URLSearchParams(given)}` : ""}`;
}

// Write the state of the view into the address; `step`: as a step that the back button undoes.
export function write(name, state, step = false) {
  const next = address(name, state);
  if (next === location.hash || shown?.name !== name) return;
  own = next;
  history[step ? "pushState" : "replaceState"](null, "", next);
}

async function show() {
  const { name, state } = read();
  if (shown?.name === name) {
    if (location.hash !== own) shown.update(state);
    own = "";
    return;
  }
  shown?.leave?.();
  const main = document.getElementById("main");
  for (const link of document.querySelectorAll("nav a")) {
    if (link.dataset.view === name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${name[0].toUpperCase()}${name.slice(1)} · structron`;
  const moved = shown !== null;
  shown = { name, update: () => {} };
  try {
    const view = await import(VIEWS[name]);
    if (read().name !== name) return;
    put(main);
    main.dataset.view = name;
    shown = { name, update: () => {}, ...(await view.open(main, state, (next, step) => write(name, next, step))) };
  } catch (error) {
    put(main, mistake(error));
  }
  if (moved) main.focus({ preventScroll: true });
}

function theme(value) {
  const [name, sign, text] = THEMES.find(([known]) => known === value) || THEMES[0];
  if (name) document.documentElement.dataset.theme = name;
  else delete document.documentElement.dataset.theme;
  const button = document.getElementById("theme");
  button.textContent = sign;
  button.setAttribute("aria-label", `Colours: ${text}`);
  button.title = `Colours: ${text}`;
  try {
    localStorage.setItem("theme", name);
  } catch { /* a browser that keeps nothing */ }
}

let kept = "";
try {
  kept = localStorage.getItem("theme") || "";
} catch { /* a browser that keeps nothing */ }
theme(kept);
document.getElementById("theme").addEventListener("click", () => {
  const now = document.documentElement.dataset.theme || "";
  theme(THEMES[(THEMES.findIndex(([name]) => name === now) + 1) % THEMES.length][0]);
});
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  document.getElementById("main").focus();
});
addEventListener("hashchange", show);
show();
