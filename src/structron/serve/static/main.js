// Which view is shown, and in which state: the address says it, as in #beam?model=english&step=7.

import { mistake, put } from "./dom.js";
import "./theme.js";

const VIEWS = { annotate: "./annotate.js", beam: "./beam.js", model: "./model.js", training: "./training.js", compare: "./compare.js" };

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

document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  document.getElementById("main").focus();
});
addEventListener("hashchange", show);
show();
