// Requests a second by upstream and status, and the slowest request of each
// second, over the last minutes, with the moments at which the configuration changed.
import { el, fill, sessionNow } from "/base.js";

const most = 180; // seconds that are kept
let seconds = 60; // that are shown
const ns = "http://www.w3.org/2000/svg";
const buckets = new Map(); // Unix second -> {s, ms, g}
let marks = [];
let drawn = "";

export function addTraffic(newBuckets, newMarks, reset) {
  if (reset) {
    buckets.clear();
    marks = [];
  }
  for (const b of newBuckets) buckets.set(b.s, b);
  marks.push(...newMarks);
  marks = marks.slice(-60);
  for (const s of buckets.keys()) {
    if (buckets.size <= most) break;
    buckets.delete(s);
  }
  drawPlots();
}

// drawPlots draws what is there now; within one second only what is new.
export function drawPlots() {
  const end = Math.floor(sessionNow() / 1000);
  const first = buckets.keys().next().value;
  seconds = first !== undefined && end - first > 60 ? most : 60;
  const last = [...buckets.values()].filter((b) => b.s > end - seconds && b.s <= end);
  const boxes = ["rate", "latency"].map((id) => document.querySelector(`#${id} svg`).clientWidth);
  const now = JSON.stringify([end, boxes, marks.length, document.documentElement.dataset.theme, last.at(-1)]);
  if (now === drawn) return;
  drawn = now;
  drawRate(last, end);
  drawLatency(last, end);
}

function svg(name, attributes, text) {
  const e = document.createElementNS(ns, name);
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
  if (text !== undefined) e.textContent = text;
  return e;
}

// frame is an empty plot with its axes: what a value is high, and where a second is.
function frame(id, end, top, unit) {
  const box = document.querySelector(`#${id} svg`);
  const width = Math.max(200, box.clientWidth);
  const height = Math.max(60, box.clientHeight);
  const [left, right, above, below] = [40, 6, 14, 16];
  box.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const x = (s) => left + ((s - (end - seconds)) / seconds) * (width - left - right);
  const y = (v) => height - below - (v / top) * (height - above - below);
  const parts = [];
  for (const v of [0, top / 2, top]) {
    parts.push(svg("line", { class: "grid", x1: left, x2: width - right, y1: y(v), y2: y(v) }));
    parts.push(svg("text", { class: "tick", x: left - 5, y: y(v) + 3.5, "text-anchor": "end" }, trim(v) + (v === top ? unit : "")));
  }
  for (let ago = 0; ago <= seconds; ago += seconds / 3) {
    const label = ago === 0 ? fill("now") : seconds === most ? fill("ago", { n: ago / 60 }) : fill("ago-seconds", { n: ago });
    const anchor = ago === 0 ? "end" : ago === seconds ? "start" : "middle";
    parts.push(svg("text", { class: "tick", x: x(end - ago), y: height - 3, "text-anchor": anchor }, label));
  }
  parts.push(...moments((m) => x(m.at / 1000), left, width - right, above, height - below));
  return { box, x, y, parts, wide: (width - left - right) / seconds + 0.3 };
}

const rank = { nack: 0, snapshot: 1, process: 2 };

// moments are lines at the times of changes. Where two are close, the one that
// matters more keeps its label.
function moments(x, left, right, top, bottom) {
  const labels = [];
  return marks.filter((m) => x(m) >= left && x(m) <= right).sort((a, b) => rank[a.kind] - rank[b.kind]).map((m) => {
    const at = x(m).toFixed(1);
    const g = svg("g", { class: `moment ${m.kind}` });
    g.append(svg("line", { x1: at, x2: at, y1: top - 2, y2: bottom }), svg("title", {}, m.say));
    if (m.kind !== "process" && labels.every((l) => Math.abs(l - at) > 22)) {
      labels.push(at);
      g.append(svg("text", { x: at, y: top - 5, "text-anchor": "middle" }, m.kind === "nack" ? "✘" : m.text));
    }
    return g;
  });
}

const trim = (v) => (v >= 10 ? Math.round(v) : Number(v.toFixed(1))).toString();

// nice is the end of an axis: 1, 2 or 5 times a power of ten.
function nice(v) {
  const power = 10 ** Math.floor(Math.log10(Math.max(v, 1)));
  return [1, 2, 5, 10].map((n) => n * power).find((n) => n >= v) || v;
}

const nameOf = (g) => `${g.u || fill("no-answer")} ${g.c}`;

function drawRate(last, end) {
  const totals = last.map((b) => b.g.reduce((sum, g) => sum + g.n, 0));
  const f = frame("rate", end, nice(Math.max(4, ...totals)), "/s");
  const series = new Map();
  for (const b of last) for (const g of b.g) series.set(nameOf(g), { failed: Boolean(g.f) });
  const names = [...series.keys()].sort((a, b) => series.get(a).failed - series.get(b).failed || a.localeCompare(b));
  let good = 0;
  names.forEach((name) => {
    const s = series.get(name);
    s.style = s.failed ? "failed" : `series-${good++ % 5}`;
    s.path = "";
  });
  for (const b of last) {
    let sum = 0;
    const byName = new Map(b.g.map((g) => [nameOf(g), g.n]));
    for (const name of names) {
      const n = byName.get(name);
      if (!n) continue;
      const [top, bottom] = [f.y(sum + n), f.y(sum)];
      series.get(name).path += `M${(f.x(b.s) - f.wide).toFixed(1)} ${bottom.toFixed(1)}V${top.toFixed(1)}h${f.wide.toFixed(1)}V${bottom.toFixed(1)}z`;
      sum += n;
    }
  }
  f.box.replaceChildren(...names.map((name) => svg("path", { class: series.get(name).style, d: series.get(name).path })), ...f.parts);
  document.querySelector("#rate .legend").replaceChildren(...names.map((name) => {
    const item = el("li");
    item.append(el("i", `swatch ${series.get(name).style}`), series.get(name).failed ? `✘ ${name}` : name);
    return item;
  }));
  const recent = last.filter((b) => b.s > end - 11 && b.s < end);
  const [sent, failed] = [false, true].map((only) => recent.reduce((sum, b) => sum + b.g.reduce((x, g) => x + (!only || g.f ? g.n : 0), 0), 0));
  caption("rate", sent === 0 ? fill("rate-none") : fill("rate", { n: trim(sent / 10), failed, sent }));
}

function drawLatency(last, end) {
  const f = frame("latency", end, nice(Math.max(1, ...last.map((b) => b.ms))), " ms");
  let path = "";
  let before = 0;
  for (const b of last) {
    path += `${b.s - before > 2 ? "M" : "L"}${f.x(b.s).toFixed(1)} ${f.y(b.ms).toFixed(1)}`;
    before = b.s;
  }
  f.box.replaceChildren(svg("path", { class: "curve", d: path || "M0 0" }), ...f.parts);
  const recent = last.filter((b) => b.s > end - 11);
  caption("latency", recent.length ? fill("slowest", { ms: trim(Math.max(...recent.map((b) => b.ms))) }) : fill("rate-none"));
}

// caption is seen above the plot, and is its text alternative.
function caption(id, text) {
  const figure = document.getElementById(id);
  figure.querySelector("figcaption span").textContent = text;
  const recent = marks.slice(-3).map((m) => m.say).join(", ");
  figure.querySelector("svg").setAttribute("aria-label", `${text}${recent ? `. ${fill("changes", { list: recent })}` : ""}`);
}
