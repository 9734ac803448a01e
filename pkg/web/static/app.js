// The page's stream: it connects, hands what comes to the parts of the page, and
// comes back by itself when the run was stopped and started again.
import { showRows, followNewest } from "/diagram.js";
import { showState, showStep, showGrade, showHosts, tickHosts, setSecret } from "/panels.js";
import { fill, setClock } from "/base.js";
import { addTraffic, drawPlots } from "/plots.js";

const lang = document.documentElement.lang;
const live = document.getElementById("live");
let since = 0; // the last event that is shown
let source = null;
let again = 0;

function say(state, text) {
  if (live.dataset.state === state) return;
  live.dataset.state = state;
  live.textContent = text;
}

function connect() {
  clearTimeout(again);
  if (source) source.close();
  source = new EventSource(`/events?lang=${lang}&since=${since}`);
  source.onmessage = (message) => {
    say("live", fill("live"));
    since = Number(message.lastEventId) || since;
    show(JSON.parse(message.data));
  };
  source.onerror = () => {
    say("lost", fill("lost"));
    // A browser comes back by itself only after a connection that broke, not
    // after one that was refused with an answer.
    if (source.readyState === EventSource.CLOSED) again = setTimeout(connect, 2000);
  };
}

function show(frame) {
  setClock(frame.now);
  if (frame.state) showState(frame.state);
  if (frame.step) showStep(frame.step);
  if (frame.grade) showGrade(frame.grade);
  if (frame.hosts) showHosts(frame.hosts);
  if (frame.problem !== undefined) live.title = frame.problem;
  showRows(frame.rows || [], frame.reset);
  addTraffic(frame.buckets || [], frame.marks || [], frame.reset);
}

// The token has done its work: it set a cookie. It need not stay in the address
// bar, where a projector shows it.
const address = new URL(location.href);
if (address.searchParams.has("t")) {
  address.searchParams.delete("t");
  history.replaceState(null, "", address);
}

// Browsers open six connections to a host at most, so a page that nobody sees
// gives its own back.
document.addEventListener("visibilitychange", () => {
  if (document.hidden) {
    clearTimeout(again);
    source.close();
  } else {
    connect();
  }
});

function theme() {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const now = document.documentElement.dataset.theme || (dark ? "dark" : "light");
  const next = now === "dark" ? "light" : "dark";
  document.documentElement.dataset.theme = next;
  try { localStorage.setItem("lab-theme", next); } catch { /* private mode: for this visit */ }
  drawPlots();
}
try {
  const kept = localStorage.getItem("lab-theme");
  if (kept === "dark" || kept === "light") document.documentElement.dataset.theme = kept;
} catch { /* private mode */ }
document.getElementById("theme").addEventListener("click", theme);

setSecret(document.getElementById("app").dataset.secret);
followNewest();
connect();
setInterval(() => { if (!document.hidden) { tickHosts(); drawPlots(); } }, 500);
addEventListener("resize", drawPlots);
