// A beam search, step by step: its states, the correct one among them, where it falls off, and what each rule would learn.

import { allModels, get, named, newest, post } from "./api.js";
import { busy, empty, h, mistake, number, put, s, select, signed } from "./dom.js";
import { curves } from "./curves.js";
import { EXAMPLES } from "./examples.js";
import { figure } from "./tree.js";

const RULES = ["early", "max-violation", "latest", "hybrid", "standard", "laso"];
const NAMES = { laso: "LaSO" };
const SAYS = {
  standard: "Compares whole analyses, at the last step. With a beam this need not be a violation.",
  early: "Updates where gold is no longer in the beam.",
  "max-violation": "Updates where gold is furthest behind the best state.",
  latest: "Updates at the last step where gold is behind.",
  hybrid: "Like standard if that is a violation, otherwise like early.",
  laso: "Updates where gold is no longer in the beam, then resumes from gold.",
};

export async function open(main, given, write) {
  const [models, files] = await Promise.all([allModels(), get("/api/data")]);
  const able = models.flatMap((model) => model.parts.filter((part) => part.beam).map((part) => ({ model, part, id: model.parts.length > 1 ? `${model.name}/${part.name}` : model.name })));
  if (!able.length) {
    put(main, h("h1", { class: "offscreen" }, "Beam"), empty(h("h2", {}, "No model here uses beam search"), h("p", {}, "Parsers do, and so do taggers, chunkers and others trained with --beam:"), h("pre", {}, "structron train tagger --beam 4 --train train.conllu --model t.structron\nstructron serve t.structron english")));
    return {};
  }
  let state = { ...given }, found = null, step = 0, playing = 0;
  const ask = newest();
  const setup = h("div", { class: "panel ask" }), view = h("div", { class: "beam", "aria-busy": "false" });
  const own = () => able.find((one) => one.id === state.model) || able[0];
  const parses = () => ["parser"].includes(own().part.task);
  const width = () => Math.min(64, Math.max(1, Number(state.beam) || 4));
  const area = h("textarea", { rows: 7, spellcheck: "false", class: "code", "aria-label": "The sentence, with its correct analysis in columns, or plain text" });

  // -- what is searched ---------------------------------------------------------------------------------------------

  async function controls() {
    const choices = [...(parses() ? EXAMPLES.map((example, k) => [`example:${k}`, example.text]) : []), ...files.map((file) => [`file:${file.name}`, `From ${file.name} (${file.sentences} sentences)`]), ["own", "Your own sentence"]];
    const chosen = state.text !== undefined ? "own" : state.file ? `file:${state.file}` : parses() ? `example:${Number(state.example) || 0}` : choices[0][0];
    const pickNumber = h("span", {});
    const details = h("details", { open: chosen === "own" }, h("summary", {}, "The sentence and its correct analysis"), area,
      h("p", { class: "soft" }, "CoNLL-U or the model's columns, one token per line; tag columns may be _. Plain text works too, without gold."),
      h("button", { type: "button", class: "primary", onclick: () => {
        state = { model: state.model, beam: state.beam, text: area.value };
        write(state, true);
        controls();
        run();
      } }, "Search"));
    put(setup, h("div", { class: "row" },
      able.length > 1 ? select("Model", able.map((one) => [one.id, `${one.id} (${one.part.task})`]), own().id, (id) => {
        state = { model: id, beam: state.beam };
        write(state, true);
        refresh();
      }) : h("p", { class: "fact" }, "Model ", h("strong", {}, own().id)),
      select("Sentence", choices, chosen, (value) => {
        const [kind, name] = value.split(/:(.*)/s);
        state = { model: state.model, beam: state.beam };
        if (kind === "example") state.example = name === "0" ? undefined : name;
        if (kind === "file") Object.assign(state, { file: name, n: 1 });
        if (kind === "own") state.text = area.value;
        write(state, true);
        refresh();
      }), pickNumber,
      h("label", { class: "field" }, h("span", {}, "Beam"), h("input", { type: "range", min: 1, max: 16, value: String(Math.min(16, width())), "aria-label": "Beam width", oninput: (event) => {
        event.target.nextSibling.textContent = event.target.value;
      }, onchange: (event) => {
        state.beam = event.target.value === "4" ? undefined : event.target.value;
        delete state.step;
        write(state);
        run();
      } }), h("output", { class: "big" }, String(width())))), details);
    if (chosen.startsWith("file:")) {
      const file = files.find((one) => one.name === state.file) || files[0];
      state.file = file.name;
      const n = Math.min(file.sentences, Math.max(1, Number(state.n) || 1));
      put(pickNumber, h("label", { class: "field" }, h("span", {}, "Number"), h("input", { type: "number", min: 1, max: file.sentences, value: String(n), onchange: (event) => {
        state = { model: state.model, beam: state.beam, file: file.name, n: event.target.value };
        write(state, true);
        refresh();
      } })));
      const some = await get(`/api/data/${named(file.name)}`, { first: n - 1, count: 1 });
      area.value = some.sentences[0] || "";
    } else if (chosen.startsWith("example:")) area.value = EXAMPLES[Number(chosen.slice(8))]?.gold || EXAMPLES[0].gold;
    else area.value = state.text || area.value;
  }

  async function refresh() {
    try {
      await controls();
    } catch (error) {
      put(view, mistake(error));
      return;
    }
    await run();
  }

  async function run() {
    stop();
    if (!area.value.trim()) {
      put(view, empty(h("p", {}, "Paste a sentence above: one token per line in the model's columns, or plain text.")));
      return;
    }
    await busy(view, view, "Searching …", async () => {
      found = await ask((signal) => post("/api/beam", { model: own().model.name, part: own().model.parts.length > 1 ? own().part.name : null, sentence: area.value, beam: width() }, signal));
      draw();
    }, () => (found = null));
  }

  // -- what is shown ------------------------------------------------------------------------------------------------

  let table, slider, head, lattice, chart, detail, cards;
  const last = () => found.steps.length - 1;
  const rule = () => (state.rule in found.rules ? state.rule : "max-violation");

  function draw() {
    step = Math.min(last(), Math.max(0, state.step === undefined ? (found.fell_off ?? Math.min(1, last())) : Number(state.step) || 0));
    table = h("div", { class: "states" });
    head = h("p", { class: "verdict", role: "status" });
    detail = h("section", { class: "panel", "aria-label": "Update" });
    slider = h("input", { type: "range", min: 0, max: last(), value: String(step), "aria-label": "Step of the search", oninput: (event) => go(Number(event.target.value)) });
    const button = (shape, label, work) => h("button", { type: "button", "aria-label": label, title: label, onclick: work }, icon(shape));
    const play = button("play", "Play", () => (playing ? stop() : start(play)));
    lattice = drawLattice();
    chart = found.annotated ? drawChart() : null;
    cards = found.annotated ? h("div", { class: "rules", role: "group", "aria-label": "Update rules" }, RULES.filter((name) => name in found.rules).map(card)) : null;
    put(view,
      h("section", { class: "panel stage", "aria-label": "The beam" },
        h("div", { class: "stepper row" }, button("first", "First step", () => go(0)), button("back", "Step back", () => go(step - 1)), play, button("next", "Step forward", () => go(step + 1)), button("last", "Last step", () => go(last())), slider),
        head, table),
      h("section", { class: "panel", "aria-label": "All steps" }, h("h2", {}, "All beams ", h("span", { class: "soft" }, "the best state is on top; lines connect each state to its successors")), h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "All beams" }, lattice.svg), legend()),
      result(),
      found.annotated ? [chart, h("section", { "aria-label": "Rules" }, h("h2", {}, "What each rule would learn from"), cards), detail]
        : h("p", { class: "note" }, "Plain text has no gold analysis. Paste one in columns to see where it falls off the beam, and what the rules would learn."));
    go(step);
    if (found.annotated) choose(rule(), false);
  }

  function start(button) {
    if (step === last()) go(0);
    put(button, icon("pause"));
    button.setAttribute("aria-label", "Pause");
    playing = setInterval(() => {
      go(step + 1);
      if (step === last()) stop();
    }, 900);
    start.button = button;
  }

  function stop() {
    clearInterval(playing);
    playing = 0;
    if (!start.button) return;
    put(start.button, icon("play"));
    start.button.setAttribute("aria-label", "Play");
  }

  function go(next) {
    step = Math.min(last(), Math.max(0, next));
    slider.value = String(step);
    slider.setAttribute("aria-valuetext", `step ${step} of ${last()}`);
    state.step = String(step);
    write(state);
    drawStates();
    lattice.mark(step);
    chart?.mark(step);
  }

  // Where gold falls off: it may have been merged with a better state before.
  const falls = () => found.steps.find((one) => one.gold !== null && one.gold_rank === null && !one.merged_rank)?.step ?? null;

  function verdict() {
    const now = found.steps[step];
    const place = `Step ${step} of ${last()}`;
    if (!found.annotated) return [h("strong", {}, place), ` – ${now.states.length} ${now.states.length === 1 ? "state" : "states"} in the beam`];
    if (now.gold_rank !== null) return [h("strong", {}, place), " – gold is ", now.gold_rank === 1 ? h("b", { class: "good" }, "the best") : h("b", { class: "gold" }, `number ${now.gold_rank}`), ` of ${now.states.length}`, now.gold_rank > 1 && `, ${number(now.best - now.gold, 1)} behind`];
    if (now.merged_rank) {
      const other = now.states[now.merged_rank - 1];
      return [h("strong", {}, place), " – gold ", h("b", { class: "gold" }, `is merged with number ${now.merged_rank}`), `, marked =: the features do not distinguish the two, and it scores ${number(other.score - now.gold, 1)} more`];
    }
    const fell = falls() === step;
    return [h("strong", {}, place), " – gold ", h("b", { class: "bad" }, fell ? "falls off the beam here" : "is off the beam"), `: ${number(Math.abs(now.best - now.gold), 1)} ${now.gold > now.best ? "ahead of" : "behind"} the best state, ${signed(now.gold - now.states[now.states.length - 1].score, 1)} against the last state in the beam`];
  }

  function drawStates() {
    const now = found.steps[step];
    put(head, verdict());
    const scores = now.states.map((one) => one.score).concat(now.gold_state && now.gold_rank === null ? [now.gold] : []);
    const high = Math.max(...scores), low = Math.min(...scores), span = high - low || 1;
    const merged = (rank, off) => now.merged_rank && (off || rank === now.merged_rank);
    const row = (one, rank, off) => h("tr", { class: [one.gold && "gold", off && "off", merged(rank, off) && "merged"].filter(Boolean).join(" ") },
      h("td", { class: "rank" }, off ? "–" : rank),
      h("td", { class: "mark" }, one.gold ? h("span", { title: "gold" }, "★", h("span", { class: "offscreen" }, "gold")) : merged(rank, off) ? h("span", { title: "gold is merged with this state" }, "=", h("span", { class: "offscreen" }, "merged with gold")) : ""),
      h("td", { class: "score" }, h("span", { class: "meter", "aria-hidden": "true" }, h("i", { style: { width: `${8 + (92 * (one.score - low)) / span}%` } })), number(one.score, 1)),
      h("td", { class: "action" }, one.action ? h("code", { class: kindOf(one.action) }, one.action) : h("span", { class: "soft" }, "start")),
      "stack" in one ? [h("td", { class: "stack" }, chips(one.stack, "stacked")), h("td", { class: "buffer" }, chips(one.buffer, ""))] : h("td", { class: "labels" }, labelled(one.labels)));
    const parser = "stack" in (now.states[0] || {});
    const columns = ["#", "", "Score", "Action", ...(parser ? ["Stack", "Buffer"] : ["Labels so far"])];
    put(table, h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "States" }, h("table", {}, h("caption", { class: "offscreen" }, `The beam at step ${step}`), h("thead", {}, h("tr", {}, columns.map((name, k) => h("th", { scope: "col", class: ["rank", "mark", "score", "action", parser ? "stack" : "labels"][k] || "buffer" }, name || h("span", { class: "offscreen" }, "gold"))))),
      h("tbody", {}, now.states.map((one, k) => row(one, k + 1, false)), now.gold_state && now.gold_rank === null && row(now.gold_state, 0, true)))));
  }

  const chips = (words, kind) => (words.length ? words.map((word) => h("span", { class: `chip ${kind}` }, word)) : h("span", { class: "soft" }, "–"));
  const labelled = (labels) => found.sentence.map((word, k) => h("span", { class: k < labels.length ? `pair ${k === labels.length - 1 ? "newest" : ""}` : "pair open" }, h("b", {}, word), h("i", {}, labels[k] ?? " ")));

  // All steps at once: a column for each, a dot for each state, lines from parents.
  function drawLattice() {
    const dx = Math.max(30, Math.min(64, 900 / (last() + 1))), dy = 22, leftEdge = 34, top = 26;
    const most = Math.max(...found.steps.map((one) => one.states.length));
    const off = found.steps.some((one) => one.gold_state && one.gold_rank === null && !one.merged_rank);
    const x = (k) => leftEdge + k * dx, y = (rank) => top + rank * dy, below = y(most) + 10;
    const edges = [], dots = [];
    const column = s("rect", { class: "now", y: 4, width: dx, height: below + (off ? 18 : 0), rx: 6 });
    let before = null;
    found.steps.forEach((one, k) => {
      let place = null;
      one.states.forEach((each, rank) => {
        if (k && each.parent !== null) edges.push(s("path", { class: each.gold ? "edge gold" : "edge", d: link(x(k - 1), y(each.parent), x(k), y(rank)) }));
        if (each.gold || one.merged_rank === rank + 1) place = y(rank);
        if (one.merged_rank === rank + 1) {
          if (before !== null) edges.push(s("path", { class: "edge gold lost", d: link(x(k - 1), before, x(k), y(rank)) }));
          dots.push(s("circle", { class: "dot gold lost", cx: x(k), cy: y(rank), r: 8 }, s("title", {}, `step ${k}: gold is merged with number ${rank + 1}`)));
        }
        dots.push(s("circle", { class: each.gold ? "dot gold" : rank ? "dot" : "dot best", cx: x(k), cy: y(rank), r: each.gold ? 7 : 5 }, s("title", {}, `step ${k}, number ${rank + 1}: ${each.action || "start"}, ${number(each.score, 1)}`)));
      });
      if (one.gold_state && place === null) {
        place = below;
        if (before !== null) edges.push(s("path", { class: "edge gold lost", d: link(x(k - 1), before, x(k), below) }));
        dots.push(s("circle", { class: "dot gold lost", cx: x(k), cy: below, r: 6 }, s("title", {}, `step ${k}: gold is off the beam, ${number(one.gold, 1)}`)));
      } else if (place !== null && before === below) edges.push(s("path", { class: "edge gold lost", d: link(x(k - 1), before, x(k), place) }));
      before = place;
    });
    const hits = found.steps.map((_, k) => s("rect", { class: "hit", x: x(k) - dx / 2, y: 0, width: dx, height: below + 40, onclick: () => go(k) }));
    const ticks = found.steps.map((_, k) => (last() < 40 || k % 5 === 0) && s("text", { class: "tick", x: x(k), y: below + (off ? 34 : 18), "text-anchor": "middle" }, k));
    const wide = x(last()) + dx, high = below + (off ? 42 : 26);
    const lost = falls(), merges = found.steps.find((one) => one.merged_rank)?.step ?? null;
    const fell = lost !== null && s("text", { class: "fell", x: x(lost), y: below + 19, "text-anchor": "middle" }, "gold falls off");
    const said = [merges !== null && `Gold is merged with a better state at step ${merges}.`, lost !== null && `Gold falls off at step ${lost}.`].filter(Boolean).join(" ") || "Gold stays in the beam to the end.";
    const svg = s("svg", { class: "lattice", width: wide, height: high, viewBox: `0 0 ${wide} ${high}`, role: "img", "aria-label": `The beams of all ${last()} steps. ${found.annotated ? said : ""}` }, column, edges, dots, ticks, fell, hits);
    return { svg, mark(k) {
      column.setAttribute("x", x(k) - dx / 2);
      const box = svg.parentNode;
      if (box) box.scrollLeft = Math.max(0, x(k) - box.clientWidth / 2);
    } };
  }

  const link = (x1, y1, x2, y2) => `M${x1} ${y1}C${(x1 + x2) / 2} ${y1} ${(x1 + x2) / 2} ${y2} ${x2} ${y2}`;
  const legend = () => h("p", { class: "key" }, h("span", {}, h("i", { class: "spot best" }), "best"), h("span", {}, h("i", { class: "spot" }), "kept"), found.annotated && h("span", {}, h("i", { class: "spot gold" }), "gold"), found.annotated && found.fell_off !== null && h("span", {}, h("i", { class: "spot lost" }), falls() === null ? "gold, merged with a better state" : "gold, off the beam or merged with a better state"));

  // The scores of best and gold, and how far gold is behind; on it the steps that rules choose.
  function drawChart() {
    const wide = 900, high = 300;
    const drawn = curves([
      { name: "best in the beam", kind: "main", points: found.steps.map((one) => [one.step, one.best]) },
      { name: "gold", kind: "gold", points: found.steps.map((one) => [one.step, one.gold]) },
    ], { title: "Scores of the best state and of gold", x: "step", wide, high });
    const { x, y, svg } = drawn.places;
    const gap = found.steps.filter((one) => one.gold !== null);
    svg.prepend(s("path", { class: "gap", d: `${gap.map((one, k) => `${k ? "L" : "M"}${x(one.step)} ${y(one.best)}`).join("")}${[...gap].reverse().map((one) => `L${x(one.step)} ${y(one.gold)}`).join("")}Z` }));
    const now = s("path", { class: "cursor", d: "" });
    svg.append(now);
    const at = new Map();
    for (const name of RULES) {
      const chosen = found.rules[name]?.step;
      if (chosen === null || chosen === undefined) continue;
      at.set(chosen, [...(at.get(chosen) || []), name]);
    }
    for (const [chosen, names] of at) {
      const one = found.steps[chosen] || found.steps[last()];
      const anchor = chosen > last() * 0.8 ? "end" : "start", side = anchor === "end" ? -8 : 8;
      svg.append(s("g", { class: "choice" }, s("path", { d: `M${x(chosen)} ${y(one.best)}V${y(one.gold)}` }), s("circle", { cx: x(chosen), cy: y(one.gold), r: 5 }),
        names.map((name, k) => s("text", { x: x(chosen) + side, y: Math.min(high - 40 - (names.length - 1 - k) * 16, y(one.gold) + 17 + k * 16), "text-anchor": anchor }, NAMES[name] || name))));
    }
    drawn.mark = (k) => now.setAttribute("d", `M${x(k)} 10V${high - 34}`);
    svg.addEventListener("click", (event) => {
      const box = svg.getBoundingClientRect(), place = ((event.clientX - box.left) / box.width) * wide;
      const spots = found.steps.map((one) => Math.abs(x(one.step) - place));
      go(spots.indexOf(Math.min(...spots)));
    });
    return drawn;
  }

  function card(name) {
    const one = found.rules[name];
    const none = one.step === null || one.step === undefined;
    const verdict = none ? h("span", { class: "soft" }, "no update") : one.violation ? h("span", { class: "good" }, `violation by ${number(-one.difference, 1)}`) : h("span", { class: "bad" }, `not a violation: gold is ${number(one.difference, 1)} ahead`);
    const many = (one.updates?.length || 0) > 1;
    return h("button", { type: "button", class: "rule", "data-rule": name, "aria-pressed": "false", onclick: () => choose(name, true) },
      h("strong", {}, NAMES[name] || name), none ? null : h("span", { class: "at" }, many ? `steps ${one.updates.map((own_) => own_.step).join(", ")}` : `step ${one.step}`), verdict, h("small", {}, SAYS[name]));
  }

  function choose(name, jump) {
    state.rule = name === "max-violation" ? undefined : name;
    write(state);
    for (const button of cards.children) button.setAttribute("aria-pressed", String(button.dataset.rule === name));
    const one = found.rules[name];
    const updates = one.updates?.length ? one.updates : one.step === null || one.step === undefined ? [] : [one];
    if (jump && updates.length) go(updates[0].step);
    put(detail, h("h2", {}, `${NAMES[name] || name}: what the update changes`),
      updates.length ? updates.map((update) => changes(update, updates.length > 1)) : h("p", { class: "soft" }, "Nothing: this rule finds no step to learn from, so the weights do not change."));
  }

  function changes(update, several) {
    const total = update.changed ?? update.features.length;
    const short = 14, rows = update.features;
    const line = (one) => h("tr", {}, h("td", { class: "name" }, one.name), h("td", {}, h("code", { class: kindOf(one.action) }, one.action)), h("td", { class: `figure ${one.change > 0 ? "good" : "bad"}` }, signed(one.change)), h("td", { class: "figure" }, number(one.weight)));
    const body = h("tbody", {}, rows.slice(0, short).map(line));
    const more = rows.length > short && h("button", { type: "button", class: "small", onclick: () => {
      body.append(...rows.slice(short).map(line));
      more.remove();
    } }, `Show ${rows.length - short} more`);
    return [several && h("h3", {}, `At step ${update.step}`),
      h("p", { class: "soft" }, `${number(total)} weights change; w·ΔΦ is ${number(update.difference, 1)} before it. Features of gold gain weight, those of the wrong prefix lose it; those in both cancel.`),
      h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Changed features" }, h("table", { class: "changes" }, h("thead", {}, h("tr", {}, ["Feature", "For", "Change", "Weight before"].map((text, k) => h("th", { scope: "col", class: k > 1 ? "figure" : "" }, text)))), body)), more,
      total > rows.length && h("p", { class: "soft" }, `${number(total - rows.length)} more are not shown.`)];
  }

  function result() {
    if (!Array.isArray(found.prediction?.[0])) {
      if (!found.prediction || typeof found.prediction[0] !== "string") return null;
      const rows = [["predicted", found.prediction], ...(found.annotated ? [["gold", found.gold_analysis]] : [])];
      return h("section", { class: "panel", "aria-label": "Result" }, h("h2", {}, "Predicted"), h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Result" }, h("table", { class: "aligned" }, h("tbody", {}, h("tr", {}, h("th", { scope: "row" }, "words"), found.sentence.map((word) => h("td", {}, word))), rows.map(([name, labels]) => h("tr", {}, h("th", { scope: "row" }, name), labels.map((label, k) => h("td", { class: name === "found" && found.annotated && label !== found.gold_analysis[k] ? "bad" : "" }, label))))))));
    }
    const drawn = (arcs, against) => ({ text: found.sentence.join(" "), tokens: found.sentence.map((form, k) => ({ form, words: [{ form, head: arcs[k][0], deprel: arcs[k][1] || "_", upos: "_", xpos: "_", lemma: "_", wrong: against && (arcs[k][0] !== against[k][0] || arcs[k][1] !== against[k][1]) }] })) });
    const gold = found.annotated ? found.gold_analysis : null;
    const layers = { tree: true, tags: false };
    return h("section", { "aria-label": "Result" }, h("div", { class: "pair-grid" },
      h("div", {}, h("h2", {}, "Predicted", gold && found.prediction.some((arc, k) => String(arc) !== String(gold[k])) && h("span", { class: "soft" }, " (wrong arcs dashed)")), figure(drawn(found.prediction, gold), layers)),
      gold && h("div", {}, h("h2", {}, "Gold"), figure(drawn(gold), layers))));
  }

  function keys(event) {
    if (!found || event.target.closest("input, textarea, select") || event.ctrlKey || event.metaKey || event.altKey) return;
    const move = { ArrowRight: step + 1, ArrowLeft: step - 1, Home: 0, End: last() }[event.key];
    if (move === undefined) return;
    event.preventDefault();
    stop();
    go(move);
  }

  put(main, h("h1", { class: "offscreen" }, "Beam"), setup, view);
  document.addEventListener("keydown", keys);
  refresh();
  return { update(next) {
    const same = ["model", "beam", "text", "file", "n", "example"].every((name) => (state[name] ?? "") === (next[name] ?? ""));
    state = { ...next };
    if (same && found) {
      go(Number(next.step ?? step));
      if (found.annotated) choose(rule(), false);
    } else refresh();
  }, leave() {
    stop();
    document.removeEventListener("keydown", keys);
  } };
}

const SHAPES = { first: "M3 3v10M13 3L6 8l7 5z", back: "M11 3L4 8l7 5z", play: "M4 2l9 6-9 6z", pause: "M5 3v10M11 3v10", next: "M5 3l7 5-7 5z", last: "M13 3v10M3 3l7 5-7 5z" };
const icon = (shape) => s("svg", { class: "icon", viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true" }, s("path", { d: SHAPES[shape] }));
const kindOf = (action) => (action.startsWith("left") ? "left" : action.startsWith("right") ? "right" : action === "shift" ? "shift" : "other");
