// A sentence: arcs above its words, tags and lemmas below them, entities and chunks as coloured ground.

import { h, hue, s } from "./dom.js";

const SHRINK = 0.8; // a tree that is a little too wide is drawn smaller; a wider one scrolls
const WORD = 17, SMALL = 11.5, GAP = 18, MARGIN = 14, LINE = 17, LEVEL = 24, RISE = 24, CORNER = 8, SPREAD = 5;
const canvas = document.createElement("canvas").getContext("2d");
const known = new Map();

export function width(text, size, weight = 400) {
  const key = `${size} ${weight} ${text}`;
  if (!known.has(key)) {
    if (known.size > 20000) known.clear();
    canvas.font = `${weight} ${size}px system-ui, -apple-system, "Segoe UI", "Noto Sans", sans-serif`;
    known.set(key, canvas.measureText(text).width);
  }
  return known.get(key);
}

const said = (value) => (value && value !== "_" ? value : "");
export const tagOf = (word) => said(word.upos) || said(word.xpos);
export const wordsOf = (sentence) => sentence.tokens.flatMap((token) => token.words);

function arcsOf(words) {
  const arcs = [];
  words.forEach((word, k) => {
    if (word.head !== null && word.head >= 0 && word.head <= words.length && word.head !== k + 1) {
      arcs.push({ head: word.head ? word.head - 1 : k, word: k, relation: said(word.deprel), level: 0, offset: 0, wrong: word.wrong });
    }
  });
  arcs.sort((a, b) => (a.head === a.word) - (b.head === b.word) || Math.abs(a.head - a.word) - Math.abs(b.head - b.word) || a.word - b.word);
  const tops = new Array(words.length + 1).fill(0);
  for (const arc of arcs) {
    const left = Math.min(arc.head, arc.word), right = Math.max(arc.head, arc.word);
    if (left === right) arc.level = 1 + Math.max(tops[left], tops[left + 1]);
    else {
      arc.level = 1 + Math.max(...tops.slice(left + 1, right + 1));
      tops.fill(arc.level, left + 1, right + 1);
    }
  }
  return arcs;
}

function layout(words, arcs, marks, layers) {
  const widths = words.map((word) => Math.max(
    width(word.form, WORD, 500), layers.tags ? width(tagOf(word), SMALL, 600) : 0,
    layers.lemmas ? width(said(word.lemma), SMALL) : 0, SMALL));
  for (const { first, last, label } of marks) {
    const all = widths.slice(first, last).reduce((sum, own) => sum + own, 0) + GAP * (last - first - 1);
    const lacking = Math.max(0, width(label, SMALL, 700) + 12 - all) / (last - first);
    for (let k = first; k < last; k += 1) widths[k] += lacking;
  }
  const leaving = new Map();
  for (const arc of [...arcs].sort((a, b) => b.level - a.level)) {
    if (arc.head === arc.word) continue;
    const key = `${arc.head} ${arc.word > arc.head}`;
    leaving.set(key, [...(leaving.get(key) || []), arc]);
  }
  for (const those of leaving.values()) {
    const step = Math.min(SPREAD, widths[those[0].head] / 2 / those.length);
    those.forEach((arc, rank) => {
      arc.offset = (rank + 1) * step * (arc.word > arc.head ? 1 : -1);
    });
  }
  const x = [];
  words.forEach((_, k) => {
    let place = k ? x[k - 1] + widths[k - 1] / 2 + GAP + widths[k] / 2 : MARGIN + widths[k] / 2;
    for (const arc of arcs) {
      const left = Math.min(arc.head, arc.word);
      if (Math.max(arc.head, arc.word) === k && left < k) {
        place = Math.max(place, x[left] + width(arc.relation, SMALL) + Math.abs(arc.offset) + 2 * CORNER + 4);
      }
    }
    x.push(place);
  });
  return { x, widths, total: x.length ? x[x.length - 1] + widths[widths.length - 1] / 2 + MARGIN : 2 * MARGIN };
}

function arcPath(arc, x, top) {
  const start = x[arc.head] + arc.offset, end = x[arc.word], floor = top - 3;
  const height = top - RISE - LEVEL * (arc.level - 1), corner = end > start ? CORNER : -CORNER;
  const path = arc.head === arc.word
    ? `M${end} ${height}V${floor - 6}`
    : `M${start} ${floor}V${height + CORNER}q0 ${-CORNER} ${corner} ${-CORNER}H${end - corner}q${corner} 0 ${corner} ${CORNER}V${floor - 6}`;
  return s("g", { class: arc.wrong ? "arc wrong" : "arc", "data-word": arc.word },
    s("path", { class: "line", d: path }), s("path", { class: "tip", d: `M${end} ${floor}l-4 -7h8z` }),
    s("text", { class: "relation", x: (start + end) / 2, y: height - 5 }, arc.relation));
}

// layers: { tree, tags, lemmas, entities, chunks, margins }; pick: called with the number of a word
export function drawTree(sentence, layers, pick) {
  const words = wordsOf(sentence);
  const arcs = layers.tree ? arcsOf(words) : [];
  const chunks = layers.chunks ? sentence.chunks || [] : [];
  const entities = layers.entities ? sentence.entities || [] : [];
  let place = 0;
  const multiwords = sentence.tokens.filter((token) => {
    token.first = place;
    place += token.words.length;
    return token.words.length > 1;
  });
  const marks = [...chunks, ...entities, ...multiwords.map((token) => ({ first: token.first, last: token.first + token.words.length, label: token.form }))];
  const at = layout(words, arcs, marks, layers);
  const top = MARGIN + Math.max(0, ...arcs.map((arc) => arc.level)) * LEVEL + (arcs.length ? RISE - 6 : 0);
  const base = top + WORD + 3;
  const tags = layers.tags && words.some((word) => tagOf(word)), lemmas = layers.lemmas && words.some((word) => said(word.lemma));
  const below = base + (tags ? LINE : 0) + (lemmas ? LINE : 0);
  const bottom = below + (multiwords.length ? LINE + 8 : 0);
  const both = chunks.length && entities.length;
  const foot = (mark) => (both || multiwords.some((token) => token.first < mark.last && mark.first < token.first + token.words.length) ? bottom : below) + LINE;
  const end = Math.max(bottom, ...[...chunks, ...entities].map(foot)) + (both ? LINE + 5 : 0);
  const span = ({ first, last }) => [at.x[first] - at.widths[first] / 2, at.x[last - 1] + at.widths[last - 1] / 2];
  const parts = [];
  const ground = (mark, kind, floor) => {
    const [left, right] = span(mark);
    parts.push(s("g", { class: kind, style: { "--hue": String(hue(mark.label)) } },
      s("rect", { x: left - 6, y: top - 1, width: right - left + 12, height: floor - top + 6, rx: 6 }),
      s("text", { class: "label", x: (left + right) / 2, y: floor }, mark.label)));
  };
  for (const chunk of chunks) ground(chunk, "chunk", foot(chunk));
  for (const entity of entities) ground(entity, "entity", foot(entity) + (both ? LINE + 5 : 0));
  parts.push(...arcs.map((arc) => arcPath(arc, at.x, top)));
  const margins = layers.margins ? sentence.margins || [] : [];
  words.forEach((word, k) => {
    const x = at.x[k], unsure = layers.unsure ? layers.unsure(margins[k]) : 0;
    const about = [said(word.lemma) && `lemma ${word.lemma}`, said(word.deprel) && `${word.deprel} of ${word.head ? words[word.head - 1]?.form : "the root"}`].filter(Boolean).join(", ");
    const group = s("g", { class: "word", role: pick ? "button" : null, tabindex: pick ? 0 : null, "aria-description": pick && about ? about : null, "data-word": k },
      s("rect", { class: "hit", x: x - at.widths[k] / 2 - 5, y: top - 1, width: at.widths[k] + 10, height: below - top + 7, rx: 5 }),
      unsure > 0.02 && s("rect", { class: "unsure", x: x - at.widths[k] / 2 - 3, y: base + 4, width: at.widths[k] + 6, height: 3, rx: 1.5, style: { opacity: String(Math.min(1, 0.15 + unsure)) } }),
      s("text", { class: "form", x, y: base }, word.form),
      tags && s("text", { class: word.mistagged ? "tag wrong" : "tag", x, y: base + LINE }, tagOf(word)),
      lemmas && s("text", { class: "lemma", x, y: base + LINE * (tags ? 2 : 1) }, said(word.lemma)));
    if (pick) {
      let timer;
      group.addEventListener("pointerenter", (event) => {
        if (event.pointerType === "mouse") timer = setTimeout(() => pick(k, group, "hover"), 220);
      });
      group.addEventListener("pointerleave", () => clearTimeout(timer));
      group.addEventListener("click", () => pick(k, group, "click"));
      group.addEventListener("keydown", (event) => {
        if (event.key === "Enter" || event.key === " ") {
          event.preventDefault();
          pick(k, group, "click");
        }
        const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (step) {
          event.preventDefault();
          group.parentNode.querySelector(`.word[data-word="${k + step}"]`)?.focus();
        }
      });
    }
    parts.push(group);
  });
  for (const token of multiwords) {
    const [left, right] = span({ first: token.first, last: token.first + token.words.length });
    parts.push(s("path", { class: "bracket", d: `M${left} ${below + 5}v4H${right}v-4` }), s("text", { class: "token", x: (left + right) / 2, y: below + 9 + LINE - 3 }, token.form));
  }
  const height = end + MARGIN, scale = Math.max(0.95, parseFloat(getComputedStyle(document.documentElement).fontSize) / 16);
  return s("svg", { class: "tree", width: at.total * scale, height: height * scale, style: { "max-width": `max(100%, ${SHRINK * at.total * scale}px)` }, viewBox: `0 0 ${at.total} ${height}`, role: pick ? "group" : "img", "aria-label": `Analysis of: ${sentence.text}` }, parts);
}

const STYLES = ["fill", "stroke", "stroke-width", "font-size", "font-weight", "font-family", "text-anchor", "opacity", "paint-order", "stroke-linejoin"];

// Drawings as one file that needs no style sheet.
export function standalone(drawings) {
  let y = 0, wide = 0;
  const groups = drawings.map((svg) => {
    const copied = svg.cloneNode(true);
    const from = svg.querySelectorAll("*"), to = copied.querySelectorAll("*");
    from.forEach((element, k) => {
      const style = getComputedStyle(element);
      to[k].removeAttribute("class");
      for (const name of ["role", "tabindex", "aria-label", "aria-description", "style", "data-word"]) to[k].removeAttribute(name);
      for (const name of STYLES) to[k].setAttribute(name, style.getPropertyValue(name));
      if (element.classList.contains("hit")) to[k].setAttribute("fill", "none");
    });
    const group = s("g", { transform: `translate(0 ${y})` }, [...copied.childNodes]);
    const { width: own, height } = svg.viewBox.baseVal;
    y += height + 12;
    wide = Math.max(wide, own);
    return group;
  });
  return new XMLSerializer().serializeToString(s("svg", { width: wide, height: y, viewBox: `0 0 ${wide} ${y}` }, groups));
}

export const figure = (sentence, layers, pick) => h("figure", { class: "sentence" }, h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": sentence.text.slice(0, 80) || "sentence" }, drawTree(sentence, layers, pick)));
