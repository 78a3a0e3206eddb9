// The JSON API of this server.

async function ask(path, options) {
  let answer;
  try {
    answer = await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The server does not respond. Is structron still running?");
  }
  const text = await answer.text();
  let found;
  try {
    found = JSON.parse(text);
  } catch {
    found = { detail: text };
  }
  if (answer.ok) return found;
  if (answer.status === 429) throw new Error("The server is busy; try again in a moment.");
  throw new Error(typeof found.detail === "string" && found.detail ? found.detail : `The server responded with status ${answer.status}.`);
}

const query = (values) => {
  const given = Object.entries(values).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return given.length ? `?${new URLSearchParams(given)}` : "";
};

export const get = (path, values = {}, signal) => ask(path + query(values), { signal });
export const post = (path, body, signal) =>
  ask(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body), signal });
export const named = (name) => encodeURIComponent(name);

let models;
export const allModels = () => (models ??= get("/api/models").catch((error) => {
  models = undefined;
  throw error;
}));

// Of several requests of one kind only the last is waited for.
export function newest() {
  let last;
  return async (work) => {
    last?.abort();
    const own = (last = new AbortController());
    const found = await work(own.signal);
    if (own.signal.aborted) throw new DOMException("", "AbortError");
    return found;
  };
}

// Give the server a model from a file; returns its name there.
export async function loadModel(file) {
  const found = await ask(`/api/models${query({ name: file.name })}`, { method: "POST", headers: { "content-type": "application/octet-stream" }, body: file });
  models = undefined;
  return found.name;
}
