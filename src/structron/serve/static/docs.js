// The API from its OpenAPI description, with a way to try each request.

import { copy, h, mistake, put } from "./dom.js";

try {
  if (localStorage.getItem("theme")) document.documentElement.dataset.theme = localStorage.getItem("theme");
} catch { /* a browser that keeps nothing */ }

const main = document.getElementById("main");
const EXAMPLES = { "/process": { data: "He flew to Paris.", tokenizer: "", tagger: "", parser: "" } };

function show(api) {
  const resolve = (schema) => (schema?.$ref ? api.components.schemas[schema.$ref.split("/").pop()] : schema);
  const groups = (api.tags || []).map((tag) => ({ ...tag, calls: [] }));
  for (const [path, methods] of Object.entries(api.paths)) {
    for (const [method, call] of Object.entries(methods)) {
      groups.find((group) => group.name === call.tags?.[0])?.calls.push({ path, method, ...call });
    }
  }
  put(main, h("h1", {}, `${api.info.title} ${api.info.version}: the API`), api.info.description.split("\n\n").map((text) => h("p", {}, marked(text))),
    groups.map((group) => h("section", {}, h("h2", {}, group.description || group.name), group.calls.map((call) => one(call, resolve)))));
}

const marked = (text) => text.split(/(`[^`]+`)/).map((part) => (part.startsWith("`") ? h("code", {}, part.slice(1, -1)) : part));

function typeOf(schema, resolve) {
  if (!schema) return "";
  if (schema.anyOf) return schema.anyOf.map((own) => typeOf(own, resolve)).join(" or ");
  if (schema.$ref) return schema.$ref.split("/").pop();
  if (schema.type === "array") return `list of ${typeOf(schema.items, resolve) || "values"}`;
  return schema.type || "value";
}

function example(body, resolve) {
  const found = {};
  for (const [name, raw] of Object.entries(body?.properties || {})) {
    const field = resolve(raw);
    if (field.examples) found[name] = field.examples[0];
    else if (body.required?.includes(name)) found[name] = field.type === "array" ? [] : "";
  }
  return found;
}

function one(call, resolve) {
  const content = call.requestBody?.content || {};
  const json = resolve(content["application/json"]?.schema), form = resolve(content["application/x-www-form-urlencoded"]?.schema);
  const fields = Object.entries((json || form)?.properties || {}).map(([name, raw]) => ({ name, schema: raw, description: raw.description, required: (json || form).required?.includes(name) }));
  const rows = [...(call.parameters || []), ...fields];
  const output = h("pre", { class: "answer", hidden: true, tabindex: 0 });
  const given = json ? h("textarea", { rows: 4, class: "code", spellcheck: "false", "aria-label": "Body of the request" }, JSON.stringify(example(json, resolve), null, 1)) : null;
  const inputs = json ? [] : rows.map((row) => [row.name, h("input", { type: "text", "aria-label": row.name, placeholder: row.name, value: EXAMPLES[call.path]?.[row.name] ?? "" })]);
  const run = async () => {
    let path = call.path;
    const values = {};
    for (const [name, input] of inputs) {
      if (path.includes(`{${name}}`)) path = path.replace(`{${name}}`, encodeURIComponent(input.value));
      else if (input.value || name in (EXAMPLES[call.path] || {})) values[name] = input.value;
    }
    const options = { method: call.method.toUpperCase() };
    if (json) Object.assign(options, { headers: { "content-type": "application/json" }, body: given.value });
    else if (form) options.body = new URLSearchParams(values);
    else if (Object.keys(values).length) path += `?${new URLSearchParams(values)}`;
    output.hidden = false;
    output.textContent = "…";
    try {
      const answer = await fetch(path, options), text = await answer.text();
      let shown = text;
      try {
        shown = JSON.stringify(JSON.parse(text), null, 1);
      } catch { /* no JSON */ }
      output.textContent = `${answer.status} ${answer.statusText}\n${shown.slice(0, 20000)}`;
    } catch (error) {
      output.textContent = String(error);
    }
  };
  return h("details", { class: "panel call" }, h("summary", {}, h("code", { class: call.method === "get" ? "right" : "left" }, call.method.toUpperCase()), " ", h("strong", {}, call.path), " ", h("span", { class: "soft" }, call.summary)),
    rows.length > 0 && h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Parameters" }, h("table", {}, h("thead", {}, h("tr", {}, ["Name", "Type", "Meaning"].map((text) => h("th", { scope: "col" }, text)))), h("tbody", {}, rows.map((row) => h("tr", {}, h("td", {}, h("code", {}, row.name), row.required && h("span", { class: "soft" }, " required")), h("td", {}, typeOf(row.schema, resolve)), h("td", {}, row.description || "")))))),
    given, inputs.length > 0 && h("div", { class: "row inputs" }, inputs.map(([, input]) => input)),
    h("div", { class: "row" }, h("button", { type: "button", class: "primary", onclick: run }, "Try it"), h("button", { type: "button", class: "small", onclick: () => copy(curl(call, given, inputs), "Command") }, "Copy as curl")), output);
}

function curl(call, given, inputs) {
  const quote = (text) => `'${text.replace(/'/g, "'\\''")}'`;
  const url = quote(`${location.origin}${call.path}`);
  if (given) return `curl ${url} -H 'content-type: application/json' -d ${quote(given.value)}`;
  const parts = inputs.filter(([name, input]) => input.value || name in (EXAMPLES[call.path] || {})).map(([name, input]) => `${call.method === "get" ? "--data-urlencode" : "-F"} ${quote(`${name}=${input.value}`)}`);
  return `curl ${call.method === "get" && parts.length ? "-G " : ""}${url} ${parts.join(" ")}`.trim();
}

try {
  const answer = await fetch("/openapi.json");
  show(await answer.json());
} catch (error) {
  put(main, mistake(error));
}
