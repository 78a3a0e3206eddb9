// Elements from values. Text goes in as text: nothing that a user, a file or a model says is ever read as HTML.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") for (const [key, own] of Object.entries(value)) element.style.setProperty(key, own);
    else if (name === "value" && "value" in element) element.value = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return element;
}

export const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
export const s = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

export function put(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export function say(text) {
  const status = document.getElementById("status");
  status.textContent = text;
  status.classList.toggle("shown", Boolean(text));
  clearTimeout(say.timer);
  if (text) say.timer = setTimeout(() => say(""), 3500);
}

export const mistake = (error) => h("p", { class: "mistake", role: "alert" }, error.message || String(error));
export const waiting = (text) => h("p", { class: "waiting" }, text || "Working …");

// Do some work for a part of the page, which is marked as busy until it is done. Work that a newer request has replaced leaves the mark to that.
export async function busy(part, shown, text, work, failed) {
  part.setAttribute("aria-busy", "true");
  const slow = setTimeout(() => put(shown, waiting(text)), 250);
  try {
    await work();
  } catch (error) {
    if (error.name === "AbortError") return;
    failed?.();
    put(shown, mistake(error));
  } finally {
    clearTimeout(slow);
  }
  part.setAttribute("aria-busy", "false");
}
export const empty = (...children) => h("div", { class: "empty" }, ...children);

export function number(value, digits = 2) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const size = Math.abs(value);
  const text = size >= 10000 ? Math.round(value).toLocaleString("en") : Number.isInteger(value) ? String(value) : value.toFixed(size >= 100 ? Math.min(1, digits) : digits);
  return text.replace("-", "−");
}

export const signed = (value, digits = 2, fixed = false) => (value > 0 ? "+" : value < 0 ? "−" : "") + (fixed ? Math.abs(value).toFixed(digits) : number(Math.abs(value), digits));

export function bytes(size) {
  const units = ["B", "kB", "MB", "GB"];
  let k = 0;
  for (; size >= 1000 && k < 3; k += 1) size /= 1000;
  return `${size < 10 && k ? size.toFixed(1) : Math.round(size)} ${units[k]}`;
}

export function select(label, options, chosen, change, attributes) {
  const list = h("select", { onchange: (event) => change(event.target.value), ...attributes },
    options.map(([value, text, disabled]) => h("option", { value, selected: value === chosen, disabled }, text)));
  return h("label", { class: "field" }, h("span", {}, label), list);
}

export function check(label, checked, change) {
  const box = h("input", { type: "checkbox", onchange: (event) => change(event.target.checked) });
  box.checked = checked;
  return h("label", { class: "check" }, box, h("span", {}, label));
}

export function later(wait, work) {
  let timer = 0;
  const call = (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...values), wait);
  };
  call.cancel = () => clearTimeout(timer);
  return call;
}

export async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = h("textarea", { class: "offscreen", "aria-hidden": "true" }, text);
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  say(`${what} copied`);
}

const HUES = { PER: 214, PERSON: 214, LOC: 150, GPE: 150, ORG: 28, MISC: 282, NP: 214, VP: 28, PP: 150, ADVP: 282, SBAR: 330 };

export function hue(label) {
  const known = HUES[label.toUpperCase()];
  if (known !== undefined) return known;
  let sum = 7;
  for (const letter of label) sum = (sum * 31 + letter.codePointAt(0)) % 360;
  return sum;
}

export function save(text, name) {
  const address = URL.createObjectURL(new Blob([text]));
  const link = h("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
  say(`${name} saved`);
}

// A button that lets the user choose a file, and hands it on.
export function fileButton(text, accept, take) {
  const input = h("input", { type: "file", accept, hidden: true, "aria-label": text, onchange: () => {
    if (input.files[0]) take(input.files[0]);
    input.value = "";
  } });
  return h("span", {}, input, h("button", { type: "button", onclick: () => input.click() }, text));
}
