// Arcs of a tree above its words, from heads that may be open: a small drawing that follows what a person changes.

import { hue, s } from "./dom.js";

const RIGHT_TO_LEFT = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u;

// given(k): whether a word is as a file says; doubt: whether the model is unsure of it.
export function arcs(words, heads, relations, { given = () => false, doubt = [] } = {}) {
  const wide = words.map((word, k) => Math.max(48, 9.5 * Math.max([...word.form].length, (relations[k] || "").length) + 18));
  const middle = [];
  let place = 0;
  for (const own of wide) { middle.push(place + own / 2); place += own; }
  const letter = words.map((word) => word.form).join("").match(/\p{L}/u)?.[0] || "";
  if (RIGHT_TO_LEFT.test(letter)) middle.forEach((own, k) => { middle[k] = place - own; });
  const spans = heads.map((head, k) => (head ? Math.abs(head - 1 - k) : 0));
  const high = 46 + 17 * Math.min(9, Math.max(1, ...spans)), base = high - 20;
  const drawn = heads.map((head, k) => {
    if (head === null || head === undefined) return null;
    const style = { "--hue": hue(relations[k] || "dep") }, kind = ["arc", given(k) && "given", doubt[k] && "doubt"].filter(Boolean).join(" ");
    if (head === 0) {
      return s("g", { class: `${kind} root`, style }, s("path", { d: `M${middle[k]} 4V${base}` }), s("text", { x: middle[k] + 5, y: 14 }, relations[k] || "root"));
    }
    const from = middle[head - 1], to = middle[k] + (from < middle[k] ? -5 : 5), top = base - 14 - 17 * Math.min(9, Math.max(0, spans[k] - 1));
    const right = to > from ? 1 : -1, bend = Math.min(10, Math.abs(to - from) / 2);
    return s("g", { class: kind, style },
      s("path", { d: `M${from} ${base}V${top + bend}Q${from} ${top} ${from + right * bend} ${top}H${to - right * bend}Q${to} ${top} ${to} ${top + bend}V${base - 2}` }),
      s("path", { class: "tip", d: `M${to - 4} ${base - 8}L${to} ${base}L${to + 4} ${base - 8}` }),
      s("text", { x: (from + to) / 2, y: top - 3, "text-anchor": "middle" }, relations[k] || "?"));
  });
  const forms = words.map((word, k) => s("text", { class: "form", x: middle[k], y: high - 4, "text-anchor": "middle" }, word.form));
  const svg = s("svg", { class: "arcs", width: place, height: high, viewBox: `0 0 ${place} ${high}`, role: "img", "aria-label": "The tree so far" }, drawn, forms);
  const scroll = document.createElement("div");
  scroll.className = "scroll";
  scroll.tabIndex = 0;
  scroll.setAttribute("role", "region");
  scroll.setAttribute("aria-label", "The tree so far");
  scroll.append(svg);
  return scroll;
}
