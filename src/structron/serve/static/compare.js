// Two models on one annotated file: their scores, whether the difference is more than chance, and where they differ.

import { allModels, get, newest, post } from "./api.js";
import { busy, empty, h, number, put, select, signed } from "./dom.js";
import { figure } from "./tree.js";

const SHOWN = 20;

export async function open(main, given, write) {
  const [models, files] = await Promise.all([allModels(), get("/api/data")]);
  let state = { ...given }, found = null;
  const ask = newest();
  const setup = h("div", { class: "panel ask" }), view = h("div", { "aria-busy": "false", class: "comparison" });
  const area = h("textarea", { rows: 8, class: "code", spellcheck: "false", "aria-label": "Annotated sentences" });
  const a = () => models.find((own) => own.name === state.a) || models.find((own) => models.some((other) => other !== own && other.task === own.task)) || models[0];
  const rivals = () => models.filter((own) => own !== a() && own.task === a().task);
  const b = () => rivals().find((own) => own.name === state.b) || rivals()[0];

  function controls() {
    const options = models.map((own) => [own.name, `${own.name} (${own.task})`]);
    const source = state.text !== undefined || !files.length ? "own" : (files.find((file) => file.name === state.data) || files[0]).name;
    const set = (change) => {
      state = { a: state.a, b: state.b, data: state.data, text: state.text, ...change };
      write(state, true);
      controls();
      if (source !== "own" || change.a || change.b) run();
    };
    put(setup, h("div", { class: "row" },
      select("A", options, a().name, (name) => set({ a: name })),
      b() ? select("B", rivals().map((own) => [own.name, own.name]), b().name, (name) => set({ b: name })) : h("p", { class: "soft fact" }, `there is no other ${a().task} to compare with`),
      select("On", [...files.map((file) => [file.name, `${file.name} (${file.sentences} sentences)`]), ["own", "Sentences to paste"]], source, (name) => {
        state = { a: state.a, b: state.b };
        if (name === "own") state.text = area.value;
        else state.data = name;
        write(state, true);
        controls();
        if (name !== "own") run();
      })),
      source === "own" && [area, h("div", { class: "row" }, h("button", { type: "button", class: "primary", disabled: !b(), onclick: () => {
        state.text = area.value;
        write(state, true);
        run();
      } }, "Compare"))]);
    return source;
  }

  async function run() {
    if (!b()) {
      put(view, empty(h("h2", {}, "Compare two models of the same task"), h("p", {}, "Start the server with two models and an annotated file:"), h("pre", {}, "structron serve old.structron new.structron --data test.conllu")));
      return;
    }
    const source = state.text !== undefined || !files.length ? { text: area.value } : { data: (files.find((file) => file.name === state.data) || files[0]).name };
    if (source.text !== undefined && !source.text.trim()) {
      put(view, empty(h("p", {}, "Paste annotated sentences above, in CoNLL-U or in the models' columns.")));
      return;
    }
    await busy(view, view, "Comparing …", async () => {
      found = await ask((signal) => post("/api/compare", { a: a().name, b: b().name, ...source }, signal));
      draw();
    });
  }

  function draw() {
    const names = found.models, first = Number(state.from) || 0;
    put(view, verdict(found), scores(found, names), h("section", { "aria-label": "Differences" },
      h("h2", {}, found.differences.length ? `Differences: ${number(found.of ?? found.differences.length)} of ${number(found.n)} sentences` : "The models agree on every sentence"),
      found.differences.slice(first, first + SHOWN).map((one) => difference(one, names)),
      found.differences.length > SHOWN && h("div", { class: "row pages" },
        h("button", { type: "button", disabled: first === 0, onclick: () => turn(first - SHOWN) }, "Previous"),
        h("span", { class: "soft" }, `${first + 1} – ${Math.min(found.differences.length, first + SHOWN)} of ${found.differences.length}`),
        h("button", { type: "button", disabled: first + SHOWN >= found.differences.length, onclick: () => turn(first + SHOWN) }, "Next"))));
  }

  function turn(from) {
    state.from = from > 0 ? String(from) : undefined;
    write(state, true);
    draw();
    view.querySelector("section:last-child h2").scrollIntoView({ block: "start" });
  }

  put(main, h("h1", { class: "offscreen" }, "Compare"), setup, view);
  area.value = state.text || "";
  controls();
  run();
  return { update(next) {
    state = { ...next };
    if (state.text !== undefined) area.value = state.text;
    controls();
    run();
  } };
}

function verdict(found) {
  const metric = found.metric, [one, other] = [found.scores[0][metric], found.scores[1][metric]];
  const gain = other - one, sure = found.p < 0.05;
  const better = gain > 0 ? found.models[1] : found.models[0];
  return h("p", { class: "headline" }, gain === 0 ? h("strong", {}, "The scores are equal.") : [h("strong", {}, better), ` is ${Math.abs(gain).toFixed(2)} points ahead (${metric}); `],
    gain !== 0 && (sure ? h("b", { class: "good" }, "the difference is significant") : h("b", { class: "gold" }, "the difference is not significant")), gain !== 0 && h("span", { class: "soft" }, ` (p ${found.p < 0.001 ? "< 0.001" : `= ${found.p.toFixed(3)}`}, paired bootstrap over ${number(found.n)} sentences)`));
}

function scores(found, names) {
  const keys = Object.keys(found.scores[0]).filter((name) => typeof found.scores[0][name] === "number" && typeof found.scores[1][name] === "number");
  const bar = (value) => h("span", { class: "meter", "aria-hidden": "true" }, h("i", { style: { width: `${Math.max(0, Math.min(100, value))}%` } }));
  const counts = new Set(["tokens", "gold", "found", "correct", "known_tokens", "unknown_tokens", "correct_tokens", "sentences", "words"]);
  return h("div", { class: "panel" }, h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Scores" }, h("table", { class: "scores" }, h("caption", { class: "offscreen" }, "Scores"), h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Score"), names.map((name) => h("th", { scope: "col", class: "figure" }, name)), h("th", { scope: "col", class: "figure" }, "Difference"))),
    h("tbody", {}, keys.filter((name) => !counts.has(name)).map((name) => h("tr", { class: name === found.metric ? "chief" : "" }, h("th", { scope: "row" }, name.replaceAll("_", " ")), found.scores.map((own) => h("td", { class: "figure" }, bar(own[name]), own[name].toFixed(2))), h("td", { class: `figure ${found.scores[1][name] > found.scores[0][name] ? "good" : found.scores[1][name] < found.scores[0][name] ? "bad" : ""}` }, signed(found.scores[1][name] - found.scores[0][name] || 0, 2, true))))))));
}

function difference(one, names) {
  const words = one.sentence;
  if (Array.isArray(one.gold?.[0])) {
    const whole = one.gold[0].length > 2; // of a pipeline: tags, features and lemma before head and relation
    const arc = (own) => (whole ? [Number(own[4]), own[5]] : own);
    const word = (own, form, gold) => ({ form, head: arc(own)[0], deprel: arc(own)[1] || "_", upos: whole ? own[0] : "_", xpos: "_", lemma: "_", wrong: gold && String(arc(own)) !== String(arc(gold)), mistagged: whole && gold && own[0] !== gold[0] });
    const tree = (all, gold) => ({ text: words.join(" "), tokens: words.map((form, k) => ({ form, words: [word(all[k], form, gold?.[k])] })) });
    const layers = { tree: true, tags: whole };
    return h("div", { class: "panel difference" }, [["gold", one.gold, null], [names[0], one.a, one.gold], [names[1], one.b, one.gold]].map(([name, arcs, gold]) => h("div", {}, h("h3", {}, name), figure(tree(arcs, gold), layers))));
  }
  const text = (label) => (Array.isArray(label) ? label.join(" ") : String(label ?? "–"));
  const row = (name, labels) => h("tr", {}, h("th", { scope: "row", title: name }, name), words.map((_, k) => h("td", { class: [text(one.a[k]) !== text(one.b[k]) && "differs", name !== "gold" && text(labels[k]) !== text(one.gold[k]) && "bad"].filter(Boolean).join(" ") }, text(labels[k]))));
  return h("div", { class: "panel difference" }, h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": words.join(" ").slice(0, 80) }, h("table", { class: "aligned" }, h("tbody", {}, h("tr", {}, h("th", { scope: "row" }, "words"), words.map((word) => h("td", { class: "word" }, word))), row("gold", one.gold), row(names[0], one.a), row(names[1], one.b)))));
}
