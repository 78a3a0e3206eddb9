// A sentence with what the model predicts for it; a person corrects and accepts, and the model learns.

import { get, post } from "./api.js";
import { curves } from "./curves.js";
import { h, hue, mistake, number, put, s, say, waiting } from "./dom.js";
import { arcs } from "./arcs.js";
import "./theme.js";

const main = document.getElementById("main");
const keep = {
  get: (store, name) => { try { return store().getItem(name); } catch { return null; } },
  set: (store, name, value) => { try { store().setItem(name, value); } catch { /* a browser that keeps nothing */ } },
};
let made = keep.get(() => sessionStorage, "window");
if (!made) keep.set(() => sessionStorage, "window", (made = `w${Math.random().toString(36).slice(2)}${Date.now().toString(36)}`));
const who = document.getElementById("who");
who.value = keep.get(() => localStorage, "who") || "me";
who.addEventListener("change", () => keep.set(() => localStorage, "who", (who.value = who.value.trim() || "me")));
const me = () => ({ window: made, who: who.value.trim() || "me" });

const OUTSIDE = "O";
let status = null, item = null, busy = false;
let cursor = 0, anchor = 0; // the selection: from the one to the other
let labels = [], heads = [], relations = []; // what is said of the sentence so far
let pulling = null; // the word whose head is being chosen
let wanted = ""; // what is typed to find a label

const span = () => [Math.min(cursor, anchor), Math.max(cursor, anchor)];
const clamp = (k) => Math.max(0, Math.min(item.words.length - 1, k));

// -- what is said of words --------------------------------------------------------------------------------------------

function spanAt(k) {
  if (!labels[k] || labels[k] === OUTSIDE) return null;
  let lo = k, hi = k;
  while (lo > 0 && labels[lo]?.startsWith("I-")) lo -= 1;
  while (hi + 1 < labels.length && labels[hi + 1]?.startsWith("I-")) hi += 1;
  return [lo, hi];
}

function clear(lo, hi, value = OUTSIDE) {
  for (let k = lo; k <= hi; k += 1) {
    const own = spanAt(k);
    if (own) for (let j = own[0]; j <= own[1]; j += 1) labels[j] = OUTSIDE;
  }
  for (let k = lo; k <= hi; k += 1) labels[k] = value;
}

function assign(label) {
  const [lo, hi] = span();
  if (status.trees) {
    for (let k = lo; k <= hi; k += 1) relations[k] = label;
  } else if (!status.spans) {
    for (let k = lo; k <= hi; k += 1) labels[k] = label;
    if (lo === hi) cursor = anchor = clamp(lo + 1);
  } else {
    const own = lo === hi && spanAt(lo);
    const [first, last] = own || [lo, hi]; // one word of a span: all of it gets the label
    clear(first, last);
    for (let k = first; k <= last; k += 1) labels[k] = (k === first ? "B-" : "I-") + label;
  }
  show();
}

function remove() {
  const [lo, hi] = span();
  if (status.trees) for (let k = lo; k <= hi; k += 1) heads[k] = relations[k] = null;
  else if (status.spans) clear(lo, hi);
  else for (let k = lo; k <= hi; k += 1) labels[k] = null;
  show();
}

function leaveOpen() {
  const [lo, hi] = span();
  if (status.trees) for (let k = lo; k <= hi; k += 1) heads[k] = relations[k] = null;
  else if (status.spans) clear(lo, hi, null);
  else for (let k = lo; k <= hi; k += 1) labels[k] = null;
  show();
}

function pull(head) { // head: the number of a word from 1; 0: the root
  if (pulling === null || head === pulling + 1) return;
  const before = heads[pulling];
  if (head === 0) for (let k = 0; k < heads.length; k += 1) if (heads[k] === 0 && k !== pulling) [heads[k], relations[k]] = [pulling + 1, null];
  for (let k = head - 1, left = heads.length; k >= 0 && heads[k] && left; left -= 1, k = heads[k] - 1) {
    if (heads[k] !== pulling + 1) continue; // the head was below the word: what stood between them takes the word's place
    [heads[k], relations[k]] = [before, before === 0 ? "root" : null];
    break;
  }
  heads[pulling] = head;
  if (head === 0) relations[pulling] = "root";
  else if (relations[pulling] === "root") relations[pulling] = null;
  cursor = anchor = pulling;
  pulling = null;
  show();
}

// -- the server ------------------------------------------------------------------------------------------------------

async function call(work) {
  if (busy) return;
  busy = true;
  main.setAttribute("aria-busy", "true");
  try {
    take(await work());
  } catch (error) {
    put(main.querySelector(".trouble") || main, mistake(error));
    main.querySelector(".trouble")?.scrollIntoView({ block: "nearest" });
  } finally {
    busy = false;
    main.setAttribute("aria-busy", "false");
  }
}

const ask = () => call(() => post("/api/teach/ask", me()));
const known = () => (status.trees ? { heads, relations } : { labels });
const accept = () => item && call(async () => {
  const found = await post("/api/teach/answer", { ...me(), sentence: item.sentence, known: known(), predicted: item.predicted });
  say("Saved");
  return found;
});
const skip = () => item && call(() => post("/api/teach/answer", { ...me(), sentence: item.sentence }));
const undo = () => call(async () => {
  const found = await post("/api/teach/undo", me());
  say(found.item ? "Undone" : "Nothing to undo");
  return found.item ? found : { ...found, item };
});

// Labels that begin with what is typed come before those that have it elsewhere.
function matches() {
  const typed = wanted.trim().toLowerCase();
  const found = status.labels.filter((label) => label.toLowerCase().includes(typed));
  return [...found.filter((label) => label.toLowerCase().startsWith(typed)), ...found.filter((label) => !label.toLowerCase().startsWith(typed))];
}

function chosenLabel() {
  const exact = status.labels.find((label) => label === wanted.trim());
  return wanted.trim() ? exact || matches()[0] : undefined;
}

function find(text) {
  wanted = text;
  const shown = new Set(matches()), first = chosenLabel();
  for (const own of main.querySelectorAll(".palette .label")) {
    own.hidden = !shown.has(own.dataset.label);
    own.classList.toggle("match", own.dataset.label === first);
  }
  main.querySelector(".found").textContent = !text.trim() ? "" : first ? `Enter: ${first}` : "Enter: add it";
}

// Enter in the field: the label that was found, or a new one.
function enterLabel() {
  const label = chosenLabel();
  if (!label) return addLabel();
  wanted = "";
  assign(label);
  focusWord();
}

async function addLabel() {
  const field = main.querySelector(".new-label input");
  const label = field.value.trim();
  if (!label) return field.focus();
  try {
    status.labels = (await post("/api/teach/label", { label })).labels;
  } catch (error) {
    put(main.querySelector(".trouble"), mistake(error));
    return;
  }
  wanted = "";
  show();
  focusWord();
}

function take(found) {
  status = found.status;
  const same = item && found.item && item.sentence === found.item.sentence && item === found.item;
  item = found.item;
  if (item && !same) {
    const said = item.said || item.predicted;
    labels = [...(said.labels || [])];
    heads = [...(said.heads || [])];
    relations = [...(said.relations || [])];
    const doubtful = (item.doubt || []).indexOf(true);
    cursor = anchor = Math.max(0, doubtful);
    pulling = null;
    wanted = "";
  }
  show(true);
}

// Whether a word is as a file says.
function given(k) {
  const own = item.known;
  if (!own) return false;
  if (status.trees) return (own.heads[k] !== null && own.heads[k] === heads[k]) || (own.relations[k] !== null && own.relations[k] === relations[k]);
  return own.labels[k] !== null && own.labels[k] === labels[k];
}

// -- drawing -----------------------------------------------------------------------------------------------------------

function wordButton(word, k) {
  const [lo, hi] = span(), chosen = k >= lo && k <= hi;
  const label = status.trees ? relations[k] : labels[k];
  const open = status.trees ? heads[k] === null : label === null;
  const own = status.spans ? spanAt(k) : null;
  const kind = status.spans ? (label && label !== OUTSIDE ? label.slice(2) : null) : label;
  const first = !status.spans || (own && own[0] === k);
  const classes = ["word", chosen && "chosen", item.doubt?.[k] && "doubt", open && "open", kind && "labelled", own && own[0] === k && "first", own && own[1] === k && "last", pulling === k && "pulling", given(k) && "given"];
  const read = [word.form, kind || (open ? "open" : ""), item.doubt?.[k] ? "uncertain" : "", given(k) ? "from the file" : ""].filter(Boolean).join(", ");
  return h("button", {
    type: "button", class: classes.filter(Boolean).join(" "), tabindex: k === cursor ? 0 : -1, "data-k": k,
    "aria-label": read, "aria-pressed": chosen ? "true" : "false", style: kind ? { "--hue": hue(kind) } : undefined,
  }, h("span", { class: "form" }, word.form), h("span", { class: "tag", "aria-hidden": "true" }, first && kind ? kind : open ? "?" : " "));
}

function sentence() {
  const words = h("div", { class: status.trees ? "words tree-words" : "words", dir: "auto", role: "group", "aria-label": "The sentence" },
    item.words.flatMap((word, k) => [wordButton(word, k), word.space && " "]));
  const under = (event) => {
    const own = document.elementFromPoint(event.clientX, event.clientY)?.closest?.(".word, .to-root, .arcs");
    return !own ? null : !own.matches(".word") ? 0 : words.contains(own) ? Number(own.dataset.k) + 1 : null; // above the words is the root
  };
  words.addEventListener("pointerdown", (event) => {
    const own = event.target.closest?.(".word");
    if (!own) return;
    const k = Number(own.dataset.k);
    if (pulling !== null) return pull(k + 1);
    words.drag = { k, x: event.clientX, y: event.clientY };
    if (event.shiftKey) cursor = k;
    else cursor = anchor = k;
    mark();
    if (event.pointerType !== "touch") event.preventDefault();
    if (status.trees) words.setPointerCapture(event.pointerId); // an arc may end outside
    focusWord();
  });
  words.addEventListener("pointermove", (event) => {
    if (!words.drag || !event.buttons) return;
    const place = under(event);
    if (status.trees) return pullTo(words, event, place);
    if (place) { cursor = place - 1; mark(); }
  });
  words.addEventListener("pointerup", (event) => {
    const drag = words.drag, place = drag && under(event);
    endPull(words);
    if (!status.trees || !drag || place === null || place === drag.k + 1) return;
    pulling = drag.k;
    pull(place);
    focusWord();
  });
  words.addEventListener("pointercancel", () => endPull(words));
  return words;
}

// An arc that is being pulled from a word to its head.
function pullTo(words, event, place) {
  const box = words.getBoundingClientRect(), line = words.line || (words.line = s("svg", { class: "pull", "aria-hidden": "true" }, s("path", {})));
  if (!line.parentNode) words.append(line);
  const from = words.querySelector(`.word[data-k="${words.drag.k}"]`).getBoundingClientRect();
  const [x, y, tox, toy] = [from.left + from.width / 2 - box.left, from.top - box.top + 6, event.clientX - box.left, event.clientY - box.top];
  line.firstChild.setAttribute("d", `M${x} ${y}Q${(x + tox) / 2} ${Math.min(y, toy) - 34} ${tox} ${toy}`);
  for (const own of main.querySelectorAll(".word, .to-root")) {
    const number = own.classList.contains("to-root") ? 0 : Number(own.dataset.k) + 1;
    own.classList.toggle("target", number === place && place !== words.drag.k + 1);
  }
}

function endPull(words) {
  words.drag = null;
  words.line?.remove();
  for (const own of main.querySelectorAll(".target")) own.classList.remove("target");
}

// Show the selection without drawing the sentence anew, which would end a drag.
function mark() {
  const [lo, hi] = span();
  for (const own of main.querySelectorAll(".word")) {
    const k = Number(own.dataset.k), chosen = k >= lo && k <= hi;
    own.classList.toggle("chosen", chosen);
    own.setAttribute("aria-pressed", chosen ? "true" : "false");
    own.tabIndex = k === cursor ? 0 : -1;
  }
}

const focusWord = () => main.querySelector(`.word[data-k="${cursor}"]`)?.focus({ preventScroll: true });

function palette() {
  return h("div", { class: status.labels.length > 9 ? "palette row many" : "palette row", role: "group", "aria-label": status.trees ? "Relations" : "Labels" },
    status.labels.map((label, k) => h("button", { type: "button", class: "label", "data-label": label, style: { "--hue": hue(label) }, onclick: () => assign(label) },
      k < 9 && h("kbd", {}, k + 1), " ", label)),
    h("button", { type: "button", class: "small", onclick: remove }, h("kbd", {}, "0"), " none"),
    h("form", { class: "new-label row", onsubmit: (event) => { event.preventDefault(); enterLabel(); } },
      h("kbd", { "aria-hidden": "true" }, "/"),
      h("input", { type: "text", maxlength: 40, size: 11, autocomplete: "off", autocapitalize: "none", spellcheck: "false", "aria-label": "Find a label, or name a new one", placeholder: "label",
        oninput: (event) => find(event.target.value),
        onkeydown: (event) => { if (event.key === "Escape") { event.target.value = ""; find(""); focusWord(); event.stopPropagation(); } } }),
      h("button", { type: "button", class: "small", onclick: addLabel }, "Add"),
      h("span", { class: "found soft", role: "status" })));
}

function actions() {
  const act = (key, text, work, more) => h("button", { type: "button", onclick: work, ...more }, h("kbd", {}, key), ` ${text}`);
  const grow = (by) => () => move(by, true);
  return h("div", { class: "actions row" },
    act("Enter", "Accept", accept, { class: "primary" }), act("u", "Undo", undo), act("?", "Leave open", leaveOpen), act("s", "Skip", skip),
    status.trees
      ? [act("h", pulling === null ? "Head …" : "Tap the head", () => { pulling = pulling === null ? cursor : null; show(); }, { "aria-pressed": pulling !== null }),
        act("r", "Root", () => { pulling = cursor; pull(0); }, { class: "to-root" })]
      : [act("⇧←", "Extend left", grow(-1)), act("⇧→", "Extend right", grow(1))]);
}

function progress() {
  const lines = status.corrections.length > 1 && curves([{ name: "corrections", points: status.corrections }], { title: "Corrections per 100 words", x: "answers", wide: 330 });
  const scores = status.scores.length > 1 && curves([{ name: "score", points: status.scores }], { title: "Score on held-out sentences", x: "answers", wide: 330, most: 100 });
  const left = status.sentences - status.answered - status.skipped;
  return h("section", { class: "panel progress", "aria-label": "Progress" },
    h("p", { class: "counts" }, h("b", {}, status.answered.toLocaleString("en")), " answered, ", h("b", {}, left.toLocaleString("en")), " left",
      status.skipped ? `, ${status.skipped} skipped` : "", status.per_100_words !== null ? `; recently ${number(status.per_100_words, 1)} corrections per 100 words` : "",
      status.agreement !== null ? `; agreement κ ${number(status.agreement)}` : "", "."),
    status.advice && h("p", { class: "note" }, status.advice),
    lines, scores,
    h("p", { class: "soft" }, "Download the annotations: ",
      ["conll", "conllu", "jsonl"].filter((format) => !(status.trees && format === "conll")).flatMap((format, k) => [k > 0 && " · ", h("a", { href: `/api/teach/export/${format}`, download: "" }, format)])));
}

function show(arrived = false) {
  document.getElementById("project").textContent = `${status.name} · ${status.task}`;
  const asked = item
    ? h("section", { class: "panel question", "aria-label": "The sentence to annotate" }, status.trees && arcs(item.words, heads, relations, { given, doubt: item.doubt || [] }), sentence(), palette(), actions(),
      item.known && h("p", { class: "soft from-file" }, "Words with a bar at their side are labelled in the file."),
      h("p", { class: "soft keys" }, "Arrow keys move, with Shift they select. Digits label; / finds a label by its letters, Enter takes it. ",
        status.trees && "Pull from a word to its head, for the root up into the drawing. ", "Words that the model is unsure of are underlined."))
    : h("section", { class: "panel question empty" }, h("h2", {}, "No sentences left"), h("p", {}, "Add more with ", h("code", {}, "structron teach … --texts"), ", or undo the last answer."),
      h("button", { type: "button", onclick: undo }, h("kbd", {}, "u"), " Undo"));
  put(main, h("h1", { class: "offscreen" }, "Correct and accept"), h("div", { class: "trouble" }), h("div", { class: "teaching" }, asked, progress()));
  if (arrived || !document.activeElement || document.activeElement === document.body) focusWord();
}

const fromRight = () => getComputedStyle(main.querySelector(".words")).direction === "rtl";

function move(by, extend) {
  cursor = clamp(cursor + (fromRight() ? -by : by));
  if (!extend) anchor = cursor;
  mark();
  focusWord();
}

document.addEventListener("keydown", (event) => {
  if (!status || event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input, select, textarea")) return;
  const key = event.key;
  const onButton = event.target.closest?.("button:not(.word), a");
  if (key === "u") undo();
  else if (!item) return;
  else if (key === "Enter" && pulling !== null) pull(cursor + 1);
  else if (key === "Enter" && !onButton) accept();
  else if (key === "ArrowLeft") move(-1, event.shiftKey);
  else if (key === "ArrowRight") move(1, event.shiftKey);
  else if (key === "Home" || key === "End") move((key === "Home") !== fromRight() ? -1e6 : 1e6, event.shiftKey);
  else if (/^[1-9]$/.test(key) && status.labels[key - 1]) assign(status.labels[key - 1]);
  else if (key === "0" || key === "Backspace" || key === "Delete") remove();
  else if (key === "?") leaveOpen();
  else if (key === "s") skip();
  else if (key === "n" || key === "/") main.querySelector(".new-label input").focus();
  else if (status.trees && key === "h") { pulling = pulling === null ? cursor : null; show(); }
  else if (status.trees && key === "r") { pulling = cursor; pull(0); }
  else if (key === "Escape" && pulling !== null) { pulling = null; show(); }
  else return;
  event.preventDefault();
  if (key !== "n" && key !== "/") focusWord();
});
document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); focusWord(); });

put(main, waiting("Loading …"));
get("/api/teach/status").then((found) => { status = found; return ask(); }).catch((error) => put(main, mistake(error)));
