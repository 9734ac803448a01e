// What every part of the page needs: words, elements, and the session's clock.
const words = JSON.parse(document.getElementById("words").textContent);

// fill puts values into the words: fill("rate", {n: 12}).
export function fill(id, values = {}) {
  return words[id].replace(/\{(\w+)\}/g, (all, name) => (name in values ? String(values[name]) : all));
}

// el makes an element; its text is never taken for markup.
export function el(name, className, text) {
  const e = document.createElement(name);
  if (className) e.className = className;
  if (text !== undefined) e.textContent = text;
  return e;
}

// rich is text in which `commands` are set as such.
export function rich(e, text) {
  e.replaceChildren(...text.split("`").map((part, i) => (i % 2 === 1 ? el("code", "", part) : part)));
  return e;
}

let skew = 0; // the session's clock minus this one, in milliseconds

export function setClock(now) { skew = now - Date.now(); }

export const sessionNow = () => Date.now() + skew;
