// Curves over steps or passes.

import { h, number, s } from "./dom.js";

export function ticks(low, high, count = 4) {
  if (!(high > low)) return [low];
  const raw = (high - low) / count, size = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((own) => own * size).find((own) => own >= raw);
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k += 1) found.push(Number((k * step).toPrecision(12)));
  return found;
}

// lines: [{ name, kind, points: [[x, y]] }]; options: { title, x, wide, high, marks: [{ x, y, text, kind, pick }], whole }
export function curves(lines, { title, x: across = "pass", wide = 400, high = 190, whole = true, unit = "", most = Infinity } = {}) {
  wide = Math.min(wide, Math.max(300, document.documentElement.clientWidth - 70));
  const points = lines.flatMap((line) => line.points).filter(([, y]) => Number.isFinite(y));
  if (!points.length) return null;
  const left = 58, right = 16, top = 14, foot = 40;
  let [lowX, highX] = [Math.min(...points.map((p) => p[0])), Math.max(...points.map((p) => p[0]))];
  let [lowY, highY] = [Math.min(...points.map((p) => p[1])), Math.max(...points.map((p) => p[1]))];
  if (lowX === highX) [lowX, highX] = [lowX - 0.5, highX + 0.5];
  if (lowY === highY) [lowY, highY] = lowY ? [lowY - Math.abs(lowY) * 0.05, Math.max(highY, Math.min(most, highY + Math.abs(highY) * 0.05))] : [0, 1];
  const pad = (highY - lowY) * 0.08;
  [lowY, highY] = [lowY >= 0 ? Math.max(0, lowY - pad) : lowY - pad, Math.max(highY, Math.min(most, highY + pad))];
  const x = (value) => left + ((value - lowX) / (highX - lowX)) * (wide - left - right);
  const y = (value) => high - foot - ((value - lowY) / (highY - lowY)) * (high - top - foot);
  const marks = ticks(lowY, highY), digits = marks.length > 1 ? Math.max(0, Math.min(4, Math.ceil(-Math.log10(marks[1] - marks[0]) - 1e-9))) : 2;
  const grid = marks.map((value) => s("g", {}, s("path", { class: "grid", d: `M${left} ${y(value)}H${wide - right}` }), s("text", { class: "tick", x: left - 8, y: y(value) + 4, "text-anchor": "end" }, value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits }))));
  const scale = ticks(lowX, highX, wide < 600 ? 6 : 12).filter((value) => !whole || Number.isInteger(value)).map((value) => s("text", { class: "tick", x: x(value), y: high - foot + 19, "text-anchor": "middle" }, number(value)));
  const drawn = lines.map((line, k) => {
    const own = line.points.filter(([, value]) => Number.isFinite(value));
    return s("g", { class: `curve ${line.kind || `line${k}`}` },
      s("path", { d: own.map(([px, py], n) => `${n ? "L" : "M"}${x(px).toFixed(1)} ${y(py).toFixed(1)}`).join("") }),
      own.length <= 60 && own.map(([px, py]) => s("circle", { cx: x(px).toFixed(1), cy: y(py).toFixed(1), r: 3 }, s("title", {}, `${across} ${px}: ${number(py)}${unit}`))));
  });
  const svg = s("svg", { class: "curves", viewBox: `0 0 ${wide} ${high}`, role: "img", "aria-label": describe(title, lines, across) }, grid, scale,
    s("text", { class: "tick", x: (left + wide - right) / 2, y: high - 3, "text-anchor": "middle" }, across), drawn);
  const key = lines.length > 1 && h("p", { class: "key" }, lines.map((line, k) => h("span", { class: `curve ${line.kind || `line${k}`}` }, h("i", {}), line.name)));
  return Object.assign(h("figure", { class: "chart" }, h("figcaption", {}, title), svg, key), { places: { x, y, svg } });
}

function describe(title, lines, across) {
  const texts = lines.map((line) => {
    const own = line.points.filter(([, value]) => Number.isFinite(value));
    return own.length ? `${line.name}: from ${number(own[0][1])} at ${across} ${own[0][0]} to ${number(own[own.length - 1][1])} at ${across} ${own[own.length - 1][0]}` : "";
  });
  return `${title}. ${texts.filter(Boolean).join("; ")}`;
}

const share = (part, whole) => (part === undefined || !whole ? NaN : (100 * part) / whole);

// The passes of a training as charts: what was learned, and how the search did.
export function historyCharts(passes, metric = "score") {
  const line = (name, value, kind) => ({ name, kind, points: passes.map((own) => [own.pass, value(own)]) });
  return [
    curves([line("dev", (own) => own.dev, "good")], { title: `Dev ${metric}`, most: 100 }),
    curves([line("wrong tokens", (own) => share(own.wrong_tokens, own.tokens), "bad")], { title: "Wrong tokens in training, %", unit: " %", most: 100 }),
    curves([line("updates", (own) => own.updates, "main")], { title: "Updates" }),
    curves([line("invalid", (own) => share(own.invalid, own.updates), "bad")], { title: "Invalid updates, %", unit: " %", most: 100 }),
    curves([line("fell off", (own) => share(own.fell_off, own.examples), "bad")], { title: "Gold fell off the beam, % of sentences", unit: " %", most: 100 }),
    curves([line("where", (own) => own.fell_at ?? NaN, "gold")], { title: "Where gold fell off: 0 first word, 1 last" }),
    curves([line("errors", (own) => own.search_errors, "bad")], { title: "Search errors" }),
  ].filter(Boolean);
}
