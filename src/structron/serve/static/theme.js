// The colours of the page, as the button of the header chooses them; the browser keeps the choice.

const THEMES = [["", "◐", "the system's"], ["light", "☀", "light"], ["dark", "☾", "dark"]];

function theme(value) {
  const [name, sign, text] = THEMES.find(([known]) => known === value) || THEMES[0];
  if (name) document.documentElement.dataset.theme = name;
  else delete document.documentElement.dataset.theme;
  const button = document.getElementById("theme");
  button.textContent = sign;
  button.setAttribute("aria-label", `Colours: ${text}`);
  button.title = `Colours: ${text}`;
  try {
    localStorage.setItem("theme", name);
  } catch { /* a browser that keeps nothing */ }
}

let kept = "";
try {
  kept = localStorage.getItem("theme") || "";
} catch { /* a browser that keeps nothing */ }
theme(kept);
document.getElementById("theme").addEventListener("click", () => {
  const now = document.documentElement.dataset.theme || "";
  theme(THEMES[(THEMES.findIndex(([name]) => name === now) + 1) % THEMES.length][0]);
});
