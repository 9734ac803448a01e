// The conversation as a sequence diagram: a list whose lines are drawn as arrows
// between lanes, and read as sentences.
import { el } from "/base.js";

const most = 250;
const list = document.getElementById("rows");
const scroll = document.getElementById("scroll");
const newest = document.getElementById("newest");
const shown = new Map();
let following = true;

const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3, hour12: false });

export function showRows(rows, reset) {
  if (reset) {
    shown.clear();
    list.replaceChildren();
  }
  for (const row of rows) {
    const line = draw(row);
    const old = shown.get(row.id);
    if (old) old.replaceWith(line);
    else list.append(line);
    shown.set(row.id, line);
  }
  while (shown.size > most) {
    const [id, line] = shown.entries().next().value;
    line.remove();
    shown.delete(id);
  }
  if (rows.length > 0 && following) toNewest();
}

function draw(row) {
  const line = el("li", `row k-${row.kind}`);
  line.dataset.id = row.id;
  const at = new Date(row.at);
  const time = el("time", "", clock.format(at));
  time.dateTime = at.toISOString();
  const picture = el("div", "lanes");
  picture.setAttribute("aria-hidden", "true");
  const request = row.kind === "requests" || row.kind === "failing";
  picture.append(row.from === row.to || request ? note(row, row.from) : arrow(row));
  if (request && row.up) picture.append(el("span", "note lane-2", row.up));
  line.append(time, picture, el("span", "hidden", row.say));
  return line;
}

function note(row, lane) {
  const n = el("span", `note lane-${lane}`);
  if (row.mark) n.append(el("b", "mark", row.mark), " ");
  n.append(row.label);
  return n;
}

// arrow is a line with its message on it, and a head where it arrives.
function arrow(row) {
  const a = el("span", `arrow ${row.to > row.from ? "right" : "left"}`);
  const label = el("span", "label");
  if (row.mark) label.append(el("b", "mark", row.mark), " ");
  label.append(row.label);
  a.append(el("i", "line start"), label, el("i", "line end"));
  return a;
}

function toNewest() {
  scroll.scrollTop = scroll.scrollHeight;
}

// followNewest keeps the newest line visible until somebody scrolls up.
export function followNewest() {
  scroll.addEventListener("scroll", () => {
    following = scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < 40;
    newest.hidden = following;
  });
  newest.addEventListener("click", () => {
    following = true;
    toNewest();
    scroll.focus();
  });
  new ResizeObserver(() => { if (following) toNewest(); }).observe(scroll);
}
