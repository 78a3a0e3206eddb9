// A training that runs: the log that train --log writes, as curves that grow.

import { get, named } from "./api.js";
import { empty, h, mistake, number, put, select } from "./dom.js";
import { historyCharts } from "./curves.js";

const EVERY = 2000;

export async function open(main, given, write) {
  const logs = await get("/api/training");
  let state = { ...given }, passes = [], timer = 0, left = false;
  const top = h("div", { class: "row" }), body = h("div", {}), live = h("p", { class: "live", role: "status" });
  const log = () => (logs.find((own) => own.name === state.log) || logs[0])?.name;

  function controls() {
    put(top, logs.length > 1 ? select("Log", logs.map((own) => [own.name, own.name]), log(), (name) => {
      state = { log: name };
      write(state, true);
      restart();
    }) : h("p", { class: "fact" }, "Log ", h("strong", {}, log())), live);
  }

  async function poll() {
    clearTimeout(timer);
    const name = log();
    try {
      const found = await get(`/api/training/${named(name)}`, { after: passes.length });
      if (left || name !== log()) return;
      if (found.of < passes.length) {
        passes = [];
        timer = setTimeout(poll, 0);
        return;
      }
      if (found.passes.length || !body.childNodes.length) {
        passes.push(...found.passes);
        draw();
      }
      live.textContent = passes.length ? `${found.live ? "Live" : "Ended"} · ${passes.length} ${passes.length === 1 ? "pass" : "passes"}` : "Waiting for the first pass …";
      live.classList.toggle("running", Boolean(passes.length && found.live));
    } catch (error) {
      if (!left) put(body, mistake(error));
    }
    if (!left) timer = setTimeout(poll, EVERY);
  }

  function draw() {
    const parts = new Map();
    for (const own of passes) parts.set(own.part || "", [...(parts.get(own.part || "") || []), own]);
    if (!passes.length) {
      put(body, empty(h("p", {}, "The log is still empty. Curves appear after the first pass.")));
      return;
    }
    put(body, [...parts].reverse().map(([name, own]) => h("section", {}, name && h("h2", {}, name), facts(own), h("div", { class: "chart-grid" }, historyCharts(own)))));
  }

  function restart() {
    passes = [];
    put(body);
    controls();
    poll();
  }

  put(main, h("h1", { class: "offscreen" }, "Training"), top, body);
  if (!logs.length) {
    put(body, empty(h("h2", {}, "No training log"), h("p", {}, "Write a log while training, and start the server with it:"),
      h("pre", {}, "structron train parser --train train.conllu --dev dev.conllu --model p.structron --log p.log\nstructron serve --log p.log")));
    return {};
  }
  restart();
  return { update(next) {
    state = { ...next };
    restart();
  }, leave() {
    left = true;
    clearTimeout(timer);
  } };
}

function facts(passes) {
  const last = passes[passes.length - 1], devs = passes.filter((own) => Number.isFinite(own.dev));
  const best = devs.reduce((top, own) => (top && top.dev >= own.dev ? top : own), null);
  const rows = [["pass", last.pass], best && ["best dev", `${number(best.dev)} in pass ${best.pass}`], ["updates", number(last.updates)],
    last.tokens_per_second && ["speed", `${number(last.tokens_per_second / 1000, 0)}k tokens/s`], last.seconds && ["seconds per pass", number(last.seconds, 1)]];
  return h("dl", { class: "facts-list inline" }, rows.filter(Boolean).map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}
