// The step with its checks and questions, the table of types, the hosts, and
// what needs a person. Everything but the step's own text is put in as text.
import { el, fill, rich, sessionNow } from "/base.js";

const $ = (id) => document.getElementById(id);
const dash = "–";
let secret = "";
let hosts = [];
let upstreams = [];
const verdicts = new Map();
let graded = "";

export function setSecret(s) { secret = s; }

function announce(text) {
  $("announce").textContent = text;
}

export function showState(state) {
  for (const [id, part] of [["part-envoy", state.envoy], ["part-control-plane", state.control_plane]]) {
    $(id).textContent = part.text;
    $(id).dataset.ok = part.ok;
  }
  showSteps(state.steps);
  showTypes(state.types);
  showTroubles(state.troubles);
  upstreams = state.upstreams;
  tickHosts(true);
}

function showSteps(steps) {
  $("steps").replaceChildren(...steps.map((step) => {
    const dot = el("li", `s-${step.state}`);
    if (step.current) dot.setAttribute("aria-current", "step");
    dot.title = step.say;
    dot.append(el("span", "hidden", step.say));
    return dot;
  }));
}

function showTypes(types) {
  const withheld = types.some((t) => t.withheld);
  document.querySelector("#types th.withheld").hidden = !withheld;
  document.querySelector("#types tbody").replaceChildren(...types.map((t) => {
    const line = el("tr", t.refused ? "refused" : "");
    const head = el("th", "", t.type);
    head.scope = "row";
    const rejected = el("td", "nacked");
    if (t.refused) rejected.append(el("b", "mark", "✘"), " ");
    rejected.append(t.nacked || dash);
    line.append(head, el("td", "", t.sent || dash), el("td", "", t.acked || dash), rejected);
    if (withheld) line.append(el("td", "withheld", t.withheld ? `⊣ ${t.withheld}` : dash));
    line.append(el("td", "", t.in_effect || dash));
    return line;
  }));
}

let troubled = "";

function showTroubles(troubles) {
  const box = $("troubles");
  box.hidden = troubles.length === 0;
  box.replaceChildren(...troubles.map((t) => {
    const item = el("div", `trouble ${t.kind}`);
    const first = el("p");
    first.append(el("b", "mark", t.mark), " ", el("strong", "", t.text));
    item.append(first);
    if (t.source) {
      const code = el("code", "source");
      code.append(el("mark", "", `${t.line} | ${t.source}`));
      item.append(code);
    }
    for (const more of t.more || []) item.append(el("p", "more", more));
    return item;
  }));
  const now = troubles.map((t) => t.text).join(" ");
  if (now !== troubled && now) announce(now);
  troubled = now;
}

export function showStep(step) {
  $("head").textContent = step.head;
  if ($("title").dataset.step !== step.id) $("reading").scrollTop = 0;
  $("title").dataset.step = step.id;
  $("title").textContent = step.title;
  document.title = `${step.head} · ${step.title}`;
  $("text").innerHTML = step.html; // made of Markdown by the session, without any HTML of others
  const box = $("questions");
  box.hidden = step.questions.length === 0;
  for (const q of step.questions) {
    const old = document.getElementById(`q-${q.id}`);
    if (old && old.dataset.step === step.id) update(old, q);
    else if (old) old.replaceWith(form(step.id, q));
    else box.append(form(step.id, q));
  }
  for (const old of box.querySelectorAll("form")) {
    if (!step.questions.some((q) => `q-${q.id}` === old.id)) old.remove();
  }
}

// update leaves alone what somebody is typing.
function update(old, q) {
  old.querySelector(".ask").textContent = q.text;
  const said = old.querySelector(".said");
  if (old.dataset.value !== q.value) {
    old.dataset.value = q.value;
    said.textContent = q.value ? fill("answered", { value: label(q) }) : "";
    said.classList.remove("bad");
  }
}

const label = (q) => (q.choices || []).find((c) => c.value === q.value)?.label || q.value;

function form(step, q) {
  const f = el("form");
  f.id = `q-${q.id}`;
  f.dataset.step = step;
  f.dataset.value = q.value;
  const id = `a-${q.id}`;
  const ask = el("label", "ask", q.text);
  ask.htmlFor = id;
  const input = el(q.kind === "choice" ? "select" : "input");
  input.id = id;
  input.name = "value";
  input.required = true;
  if (q.kind === "choice") {
    input.append(el("option", "", ""));
    for (const c of q.choices || []) {
      const o = el("option", "", c.label);
      o.value = c.value;
      input.append(o);
    }
  } else {
    input.autocomplete = "off";
    input.inputMode = q.kind === "number" ? "numeric" : "text";
  }
  const button = el("button", "", q.prediction ? fill("predict") : fill("save"));
  const row = el("div", "answer");
  row.append(input, button);
  const said = el("p", "said", q.value ? fill("answered", { value: label(q) }) : "");
  said.setAttribute("role", "status");
  f.append(el("p", "id", fill("question", { id: q.id })), ask, row, said);
  f.addEventListener("submit", (event) => {
    event.preventDefault();
    send(q, input.value, said);
  });
  return f;
}

async function send(q, value, said) {
  try {
    const reply = await fetch(`/answer?lang=${document.documentElement.lang}`, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Lab-Page": secret },
      body: JSON.stringify({ question: q.id, value }),
    });
    const body = await reply.json();
    said.textContent = body.ok ? `${fill("answered", { value: label({ ...q, value }) })}. ${fill("saved")}` : body.text;
    said.classList.toggle("bad", !body.ok);
  } catch {
    said.textContent = fill("not-saved");
    said.classList.add("bad");
  }
}

export function showGrade(grade) {
  const verdict = $("verdict");
  verdict.textContent = grade.text;
  verdict.dataset.verdict = grade.verdict;
  const missing = grade.missing.map((text) => check({ verdict: "cannot tell", mark: "?", word: grade.text, text }));
  $("checks").replaceChildren(...missing, ...grade.checks.map(check));
  $("diagnosis").hidden = !grade.diagnosis;
  rich($("diagnosis"), grade.diagnosis);
  rich($("next"), grade.next);
  if (graded !== grade.step) verdicts.clear();
  for (const c of grade.checks) {
    const before = verdicts.get(c.id);
    if (before && before !== c.verdict && graded === grade.step) {
      announce(fill(c.verdict === "passed" ? "check-met" : "check-unmet", { text: `${c.word}: ${c.text}` }));
    }
    verdicts.set(c.id, c.verdict);
  }
  graded = grade.step;
  $("grade").dataset.step = grade.step;
}

function check(c) {
  const item = el("li", "check");
  item.dataset.verdict = c.verdict;
  item.dataset.id = c.id || "";
  const mark = el("b", "mark", c.mark);
  mark.setAttribute("aria-hidden", "true");
  const body = el("div");
  body.append(el("span", "hidden", `${c.word}: `));
  if (c.expected) body.append(rich(el("p", "expected"), c.expected));
  if (c.text) body.append(rich(el("p", "observed"), c.text));
  item.append(mark, body);
  return item;
}

export function showHosts(list) {
  hosts = list;
  tickHosts(true);
}

// tickHosts counts down what is ejected; the table itself changes when the hosts do.
export function tickHosts(all) {
  if (!all && !hosts.some((h) => h.state === "ejected")) return;
  const name = (h) => upstreams.find((u) => u.address === h.address)?.name || h.address;
  const lines = [...hosts].sort((a, b) => a.cluster.localeCompare(b.cluster) || name(a).localeCompare(name(b))).map(hostLine);
  if (lines.length === 0) {
    const line = el("tr");
    const cell = el("td", "none", fill("no-hosts"));
    cell.colSpan = 4;
    line.append(cell);
    lines.push(line);
  }
  document.querySelector("#hosts tbody").replaceChildren(...lines);
  $("estimate").hidden = !hosts.some((h) => h.state === "ejected" && h.latest);
}

function hostLine(h) {
  const line = el("tr", h.state);
  const up = upstreams.find((u) => u.address === h.address);
  const head = el("th", "", up ? up.name : h.address);
  head.scope = "row";
  if (up) head.append(" ", el("span", "dim", h.address));
  const health = el("td", "health");
  health.append(el("b", "mark", h.state === "healthy" ? "✔" : "✘"), ` ${h.health}`);
  if (h.state === "ejected") health.append(el("span", "back", ` · ${back(h)}`));
  if (up && up.fault !== "ok") health.append(" · ", el("span", "fault", fill("upstream-fault", { fault: up.fault })));
  line.append(head, el("td", "", h.cluster), health, el("td", "", up ? fill("per-second", { n: up.rate }) : dash));
  return line;
}

function back(h) {
  if (!h.latest) return fill("back-unknown");
  const now = sessionNow();
  const [from, to] = [h.earliest, h.latest].map((t) => Math.max(0, (t - now) / 1000)).map((s) => s.toFixed(s < 10 ? 1 : 0));
  return Number(to) === 0 ? fill("back-soon") : fill("back-in", { from, to });
}
