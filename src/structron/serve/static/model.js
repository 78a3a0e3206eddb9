// What a model has learned: labels, heaviest features; how it was trained; how large it is.

import { allModels, get, loadModel, named, newest } from "./api.js";
import { busy, bytes, fileButton, h, later, mistake, number, put, select, signed } from "./dom.js";
import { historyCharts } from "./curves.js";

export async function open(main, given, write) {
  let models = await allModels();
  let state = { ...given }, model = null;
  const askModel = newest(), askFeatures = newest();
  const top = h("div", { class: "row" }), parts = h("div", { class: "tabs", role: "group", "aria-label": "Parts" });
  const facts = h("section", { class: "panel", "aria-label": "Summary" });
  const labels = h("section", { class: "panel labels", "aria-label": "Labels" });
  const features = h("section", { class: "panel features", "aria-label": "Features", "aria-busy": "false" });
  const charts = h("section", { class: "charts", "aria-label": "Training history" });
  const part = () => model.parts.find((own) => own.name === state.part) || model.parts.find((own) => own.name === "parser") || model.parts[0];

  async function load() {
    const name = (models.find((own) => own.name === state.model) || models[0]).name;
    put(top, models.length > 1 ? select("Model", models.map((own) => [own.name, `${own.name} (${own.task})`]), name, (value) => {
      state = { model: value };
      write(state, true);
      load();
    }) : h("p", { class: "fact" }, "Model ", h("strong", {}, name)), fileButton("Load a model …", ".structron", async (file) => {
      await busy(facts, facts, `Loading ${file.name} …`, async () => {
        const own = await loadModel(file);
        models = await allModels();
        state = { model: own };
        write(state, true);
        await load();
      });
    }));
    try {
      model = await askModel((signal) => get(`/api/models/${named(name)}`, {}, signal));
    } catch (error) {
      if (error.name !== "AbortError") put(facts, mistake(error));
      return;
    }
    draw();
  }

  function draw() {
    const now = part();
    put(parts, model.parts.length > 1 && model.parts.map((own) => h("button", { type: "button", "aria-pressed": String(own === now), onclick: () => {
      state = { model: state.model, part: own.name };
      write(state, true);
      draw();
    } }, own.name)));
    const before = Number(now.signature.match(/\| features (\d+)/)?.[1]), kept = Number(now.summary.features);
    const counts = before && kept && before !== kept ? { features: `${number(kept)} of ${number(before)}; the compact file does not store the others` } : {};
    const rows = [["task", now.task], ["file", `${model.file}, ${bytes(model.bytes)}`], ...Object.entries({ ...now.summary, ...counts }), ["best pass", now.best_pass]];
    put(facts, h("h2", {}, now.name), h("dl", { class: "facts-list" }, rows.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, typeof value === "number" ? number(value) : /^\d{5,}$/.test(value) ? Number(value).toLocaleString("en") : value)))),
      h("details", {}, h("summary", {}, "How it was trained"), h("p", { class: "signature" }, now.signature), h("dl", { class: "facts-list options" }, Object.entries(now.options).map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value || "–"))))));
    const drawn = historyCharts(now.history, now.metric);
    put(charts, h("h2", {}, "Training"), drawn.length ? h("div", { class: "chart-grid" }, drawn) : h("p", { class: "soft" }, "The model file has no training history, because compact models do not store it. Train without ", h("code", {}, "--compact"), " to see it here."));
    drawLabels();
    drawFeatures();
  }

  const label = () => (part().labels.includes(state.label) ? state.label : part().labels[0]);

  function drawLabels() {
    const now = part();
    const list = h("div", { class: "list", role: "group", "aria-label": "Labels" });
    const fill = (text) => put(list, now.labels.filter((own) => own.toLowerCase().includes(text.toLowerCase())).slice(0, 400).map((own) => h("button", { type: "button", "aria-pressed": String(own === label()), onclick: () => {
      state.label = own;
      write(state, true);
      for (const button of list.children) button.setAttribute("aria-pressed", String(button.textContent === own));
      drawFeatures();
    } }, own)));
    fill("");
    put(labels, h("h2", {}, now.task === "parser" ? "Actions" : now.task === "graph-parser" ? "Relations" : "Labels"),
      now.labels.length > 12 && h("input", { type: "search", placeholder: "Find …", "aria-label": "Find a label", oninput: (event) => fill(event.target.value) }), list);
  }

  function drawFeatures() {
    const now = part(), table = h("div", {});
    if (!now.features) {
      put(features, h("h2", {}, "Strongest features"), h("p", { class: "soft" }, "This part has no features that can be shown."));
      return;
    }
    const search = later(250, (text) => {
      state.search = text;
      write(state);
      fill();
    });
    put(features, h("h2", {}, "Strongest features ", h("span", { class: "soft" }, `for ${label()}`)),
      h("input", { type: "search", placeholder: "Search, for instance suffix or NOUN", "aria-label": "Search features", value: state.search || "", oninput: (event) => search(event.target.value) }), table);
    async function fill() {
      await busy(features, table, "Loading …", async () => {
        const found = await askFeatures((signal) => get(`/api/models/${named(model.name)}/features`, { part: model.parts.length > 1 ? now.name : undefined, label: label(), search: state.search, top: 60 }, signal));
        const weights = Object.values(found.labels).flat(), pairs = found.pairs;
        put(table, found.nameless && h("p", { class: "note" }, "Compact models do not store the names of features; only some names can be shown."),
          weights.length ? bars(weights) : h("p", { class: "soft" }, state.search ? "None of the strongest features matches." : "No feature has both a weight and a name."),
          pairs.length > 0 && [h("h3", {}, "Previous labels"), bars(pairs)]);
      });
    }
    fill();
  }

  put(main, h("h1", { class: "offscreen" }, "Model"), top, parts, h("div", { class: "model-grid" }, facts, labels, features), charts);
  await load();
  return { update(next) {
    state = { ...next };
    load();
  } };
}

const NAMES = 6;

// Features of equal weight share a row.
export function bars(weights) {
  const most = Math.max(1e-9, ...weights.map((own) => Math.abs(own.weight)));
  const groups = new Map();
  for (const own of weights) {
    const value = signed(own.weight);
    if (groups.has(value)) groups.get(value).names.push(own.feature);
    else groups.set(value, { weight: own.weight, names: [own.feature] });
  }
  const names = (all) => all.map((name) => h("span", { class: "name" }, name));
  return h("ul", { class: "bars wide" }, [...groups.values()].map((own) => h("li", {}, h("span", { class: "names" }, names(own.names.slice(0, NAMES)),
    own.names.length > NAMES && h("details", {}, h("summary", { class: "soft" }, `${own.names.length - NAMES} more with this weight`), names(own.names.slice(NAMES)))),
    h("span", { class: "bar", "aria-hidden": "true" }, h("i", { class: own.weight > 0 ? "for" : "against", style: { width: `${(50 * Math.abs(own.weight)) / most}%` } })),
    h("span", { class: own.weight > 0 ? "value for" : "value against" }, signed(own.weight)))));
}
