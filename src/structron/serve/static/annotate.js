// Text in; sentences with trees, tags, lemmas, entities and chunks out; and why each is as it is.

import { allModels, newest, post } from "./api.js";
import { busy, check, copy, empty, fileButton, h, mistake, number, put, save, say, select, signed, waiting } from "./dom.js";
import { figure, standalone, wordsOf } from "./tree.js";

const EXAMPLE = "Dr. Smith didn't sleep. He flew to Paris with the old man who had sold him the house.";
const MOST = 900000; // bytes of a text; the server takes a little more
const TAGGED = "The/DT old/JJ dog/NN sleeps/VBZ in/IN the/DT house/NN ./.";
const LAYERS = [["tree", "Trees"], ["tags", "Tags"], ["lemmas", "Lemmas"], ["entities", "Entities"], ["chunks", "Chunks"], ["margins", "Uncertainty"]];
const HIDDEN = "lemmas";
const HAS = { tree: ["parser", "graph-parser"], tags: ["tagger", "joint", "parser", "graph-parser", "chunker", "segments", "entities"], lemmas: ["lemmatizer"], entities: ["entities"], chunks: ["chunker", "segments", "joint"], margins: ["tagger", "chunker", "entities", "lemmatizer"] };
const TITLES = { tagger: "Tag", morphology: "Features", lemmatizer: "Lemma", parser: "Head", entities: "Entity", chunker: "Chunk", "graph-parser": "Head", segments: "Chunk", joint: "Tag and chunk" };

export async function open(main, given, write) {
  const models = await allModels();
  let state = { ...given }, found = null;
  const ask = newest(), askWhy = newest();
  const area = h("textarea", { id: "text", rows: 3, spellcheck: "false", "aria-label": "Text to analyse", onkeydown: (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) run(true);
  } });
  const output = h("section", { class: "output", "aria-label": "Analysis", "aria-busy": "false" });
  const why = h("aside", { class: "why panel", "aria-label": "Why", "aria-live": "polite", tabindex: 0 });
  const layers = h("div", { class: "checks", role: "group", "aria-label": "Show" });
  const chooser = h("div", { class: "row" });
  const tools = h("div", { class: "row tools-row" });
  const model = () => models.find((own) => own.name === state.model) || models[0];
  const example = () => (model().text || model().reads.length < 2 ? EXAMPLE : model().reads.length === 2 ? TAGGED : EXAMPLE);
  const hidden = () => new Set((state.hide ?? HIDDEN).split(",").filter(Boolean));

  function controls() {
    const several = models.length > 1 ? select("Model", models.map((own) => [own.name, `${own.name} (${own.task})`]), model().name, (name) => {
      const untouched = area.value === example();
      state.model = name;
      if (untouched) area.value = example();
      controls();
      run(true);
    }) : h("p", { class: "fact" }, "Model ", h("strong", {}, model().name));
    put(chooser, several, h("button", { type: "button", class: "primary", onclick: () => run(true) }, "Annotate"), fileButton("Open a text …", ".txt,text/plain", async (file) => {
      if (file.size > MOST) {
        say(`${file.name} is too long for the page; use structron annotate`);
        return;
      }
      area.value = await file.text();
      run(true);
    }), h("span", { class: "keys" }, h("kbd", {}, "Ctrl"), " + ", h("kbd", {}, "Enter")));
    put(layers, LAYERS.filter(([name]) => model().parts.some((part) => HAS[name].includes(part.task))).map(([name, text]) => check(text, !hidden().has(name), (on) => {
      const now = hidden();
      if (on) now.delete(name);
      else now.add(name);
      state.hide = [...now].join(",") || "none";
      if (state.hide === HIDDEN) delete state.hide;
      write(state);
      draw();
    })));
    const kinds = [["CoNLL-U", "conllu", () => found.conllu], ["JSON", "json", () => {
      const { conllu, ...rest } = found;
      return JSON.stringify(rest, null, 1);
    }], ["SVG", "svg", () => standalone([...output.querySelectorAll("svg.tree")])]];
    const group = (title, work) => h("div", { class: "row copies", role: "group", "aria-label": title }, h("span", { class: "soft" }, title), kinds.map(([name, end, text]) => h("button", { type: "button", class: "small", onclick: () => found && work(text(), name, end) }, name)));
    put(tools, layers, h("div", { class: "row" }, group("Copy", copy), group("Save", (text, name, end) => save(text, `analysis.${end}`))));
    hint();
  }

  function hint() {
    const reads = model().reads;
    area.placeholder = model().text ? "Plain text" : `One sentence per line, tokens separated by spaces${reads.length > 1 ? `, as ${reads.join("/")}` : ""}`;
  }

  async function run(step) {
    state.text = area.value === example() ? undefined : area.value;
    write(state, step);
    put(why, explained());
    await busy(output, output, "Analysing …", async () => {
      found = await ask((signal) => post("/api/annotate", { text: area.value, model: model().name, margins: true }, signal));
      draw();
    }, () => (found = null));
  }

  function draw() {
    if (!found) return;
    const now = hidden(), shown = Object.fromEntries(LAYERS.map(([name]) => [name, !now.has(name)]));
    const margins = found.sentences.flatMap((own) => own.margins || []).filter((value) => value !== null).sort((a, b) => a - b);
    const usual = margins.length ? margins[Math.floor(margins.length / 2)] : 0;
    shown.unsure = shown.margins && usual ? (value) => (value === null || value === undefined ? 0 : Math.max(0, 1 - value / usual)) : null;
    if (!found.sentences.length) {
      put(output, empty(h("p", {}, "This text has no words.")));
      return;
    }
    put(output,
      found.supplied_by && h("p", { class: "note" }, `Tokens and tags were supplied by ${found.supplied_by}.`),
      found.sentences.map((sentence, number) => figure(sentence, shown, (word, element, how) => explain(number, word, element, how))));
  }

  const explained = () => [h("h2", {}, "Why?"), h("p", { class: "soft" }, "Point at a word, or move to one with Tab and the arrow keys and press Enter, to see the features for and against its analysis.")];
  const decisions = new Map();

  function about(sentence, part) {
    const words = wordsOf(sentence).map(({ form, lemma, upos, xpos, feats }) => ({ form, lemma, upos, xpos, feats }));
    const key = JSON.stringify([model().name, part, words]);
    if (!decisions.has(key)) {
      if (decisions.size > 100) decisions.clear();
      const asked = post("/api/explain", { words, model: model().name, part, top: 10 });
      decisions.set(key, asked);
      asked.catch(() => decisions.delete(key));
    }
    return decisions.get(key);
  }

  async function explain(number, k, element, how) {
    for (const old of output.querySelectorAll(".picked")) old.classList.remove("picked");
    element.classList.add("picked");
    element.ownerSVGElement.querySelector(`.arc[data-word="${k}"]`)?.classList.add("picked");
    const sentence = found.sentences[number], word = wordsOf(sentence)[k];
    const parts = model().parts.filter((part) => part.explains && TITLES[part.name]);
    const boxes = parts.map((part) => h("section", { class: "decision" }, h("h3", {}, TITLES[part.name]), waiting("Loading …")));
    const margin = (sentence.margins || [])[k];
    put(why, h("h2", {}, word.form), h("p", { class: "facts" },
      [["lemma", word.lemma], ["tag", [word.upos, word.xpos].filter((own) => own !== "_").join(" ")], ["features", word.feats], ["relation", word.deprel], ["margin", margin === undefined || margin === null ? "_" : number_(margin)]]
        .filter(([, value]) => value && value !== "_").map(([name, value]) => h("span", { class: "fact" }, h("b", {}, name), " ", value))), boxes);
    if (how === "click" && getComputedStyle(why).position === "static") why.scrollIntoView({ block: "nearest", behavior: "smooth" });
    const order = [...parts.keys()].sort((a, b) => (parts[a].task === "parser") - (parts[b].task === "parser"));
    try {
      await askWhy(async (signal) => {
        for (const place of order) {
          const { decisions: all } = await about(sentence, model().parts.length > 1 ? parts[place].name : null);
          if (signal.aborted) return;
          const own = all.filter((decision) => decision.word === k);
          put(boxes[place], h("h3", {}, TITLES[parts[place].name]), own.length ? own.map((decision) => reason(decision, sentence, k)) : h("p", { class: "soft" }, "Nothing was decided here: the word is the root."));
        }
      });
    } catch (error) {
      if (error.name !== "AbortError") put(why, mistake(error));
    }
  }

  controls();
  area.value = state.text ?? example();
  put(main,
    h("h1", { class: "offscreen" }, "Annotate"),
    h("div", { class: "panel ask" }, area, chooser),
    tools, h("div", { class: "beside" }, output, why));
  put(why, explained());
  await run(false);
  return { update(next) {
    state = { ...next };
    area.value = state.text ?? example();
    controls();
    run(false);
  } };
}

const number_ = (value) => number(value, 1);

// What was decided, before what, and the features for and against as bars on either side of a line.
export function reason(decision, sentence, k) {
  const words = wordsOf(sentence);
  const most = Math.max(1e-9, ...decision.because.map((own) => Math.abs(own.weight)));
  const margin = decision.margin === null ? "" : decision.margin < 0 ? ` because of later actions: here ${decision.runner_up} scores ${number_(-decision.margin)} more` : ` by ${number_(decision.margin)} over ${decision.runner_up}`;
  return h("div", {},
    h("p", {}, h("strong", {}, decision.chosen), decision.runner_up === null ? h("span", { class: "soft" }, " – no other is possible") : h("span", { class: "soft" }, margin)),
    decision.state && h("p", { class: "state soft" }, decision.state),
    h("ul", { class: "bars" }, decision.because.map((own) => h("li", {},
      h("span", { class: "name" }, own.feature, own.word !== k && own.word !== null && words[own.word] ? h("em", {}, ` at ${words[own.word].form}`) : null),
      h("span", { class: "bar", "aria-hidden": "true" }, h("i", { class: own.weight > 0 ? "for" : "against", style: { width: `${(50 * Math.abs(own.weight)) / most}%` } })),
      h("span", { class: own.weight > 0 ? "value for" : "value against" }, signed(own.weight, 1))))));
}
