// The operator's page: views of /v1, counters as small plots, events as they come.
"use strict";

// Of each view: the order in which what needs a person comes first, the columns that tell most
// (the others are in the detail), and which rows are red or yellow.
const VIEWS = [
  { name: "services", by: "stale",
    columns: ["name", "State", "accepting", "stale", "active", "pending", "items", "updatesPerS", "hubs", "serviceID", "QoS"],
    warn: row => row.State === "Down" ? "bad" : row.stale > 0 ? "warn" : "" },
  { name: "sources", by: "losses",
    columns: ["name", "phase", "losses", "lastLossSeconds", "upSeconds", "items", "inWindow", "unsent", "services", "lastLoss"],
    warn: row => row.up ? row.losses > 0 ? "warn" : "" : "bad" },
  { name: "mounts", by: "backlogBytes",
    columns: ["at", "channel", "loginName", "backlogBytes", "slow", "slowSeconds", "slowCount", "mergedBytes", "items", "protocol", "hostname"],
    warn: row => row.slow ? "bad" : "" },
  { name: "users", by: "total",
    columns: ["loginName", "total", "channels", "aggregateItemLimit", "itemLimitPerMount"],
    warn: row => row.total >= row.aggregateItemLimit ? "bad" : "" },
  { name: "items", by: "messages",
    columns: ["name", "service", "state", "watchers", "messages", "messagesPerS", "imageBytes", "mergedBytes", "request", "text"],
    warn: row => row.state.endsWith("suspect") ? "warn" : "" },
  { name: "servers", by: "requests", columns: ["at", "name", "requests", "incarnation"], warn: () => "" },
  { name: "peers", by: "lost",
    columns: ["at", "name", "up", "lost", "gaps", "position", "silentMs", "incarnation"],
    warn: row => row.up ? row.lost > 0 ? "warn" : "" : "bad" },
  { name: "hops", by: "worstNs",
    columns: ["service", "hop", "p50Ns", "p99Ns", "worstNs", "worstItem", "samples", "at"],
    warn: () => "" },
];
// Where a row leads: the view, and what of it is wanted. The first is where Enter goes.
const WAYS = {
  services: row => [["items", { filter: row.name }], ["sources", { filter: row.name }]],
  sources: row => [["services", { filter: row.services.split(" ")[0] }]],
  mounts: row => [["items", { at: row.at, of: row.channel }], ["users", { filter: row.loginName || "" }]],
  users: row => [["mounts", { filter: row.loginName }]],
  hops: row => [["items", { filter: row.worstItem }]],
};
const PLOTS = [
  ["updates in", "/s", (all) => rate(all, "server", "updates_in")],
  ["updates out", "/s", (all) => rate(all, "server", "updates_out")],
  ["bytes out", "B/s", (all) => rate(all, "channel", "bytes_sent")],
  ["waiting for mounts", "B", (all) => sum(all, "server", "output_bytes")],
  ["busiest thread, 10 ms", "%", (all) => most(all, "thread", "busiest_permille") / 10],
];
const PERIOD_MS = 1000, POINTS = 120, ROWS = 50, EVENTS = 200;

const $ = (selector) => document.querySelector(selector);
const state = { view: VIEWS[2], by: null, filter: "", chosen: 0, rows: [], held: false, open: null, of: null, way: [] };
let before = null;

function element(tag, text, classes) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (classes) made.className = classes;
  return made;
}

const values = (all, part, name) => Object.values(all[part] || {}).map(counts => counts[name] || 0);
const sum = (all, part, name) => values(all, part, name).reduce((a, b) => a + b, 0);
const most = (all, part, name) => Math.max(0, ...values(all, part, name));
function rate(all, part, name) {
  if (!before) return 0;
  const seconds = (all.at - before.at) / 1000;
  return Math.max(0, (sum(all, part, name) - sum(before, part, name)) / seconds);
}

function shown(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value !== "number") return String(value);
  for (const [size, letter] of [[1e9, "G"], [1e6, "M"], [1e4, "k"]])
    if (Math.abs(value) >= size) return (value / (letter === "k" ? 1e3 : size)).toFixed(1) + letter;
  return Number.isInteger(value) ? String(value) : value.toFixed(1);
}

function drawPlots(all) {
  const panel = $("#plots");
  PLOTS.forEach(([title, unit, value], index) => {
    let plot = panel.children[index];
    if (!plot) {
      plot = element("div", undefined, "plot");
      plot.innerHTML = "<span></span><b></b><svg viewBox='0 0 119 34' preserveAspectRatio='none' aria-hidden='true'><path/></svg>";
      plot.firstChild.textContent = title;
      plot.points = [];
      panel.append(plot);
    }
    const now = value(all);
    plot.points.push(now);
    if (plot.points.length > POINTS) plot.points.shift();
    plot.children[1].textContent = `${shown(now)} ${unit}`;
    const top = Math.max(1, ...plot.points);
    const from = POINTS - plot.points.length;
    const line = plot.points.map((y, x) => `${from + x},${(32 - 30 * y / top).toFixed(1)}`);
    plot.querySelector("path").setAttribute("d", "M" + line.join("L"));
  });
}

function drawTabs() {
  $("#tabs").replaceChildren(...VIEWS.map((view, index) => {
    const tab = element("button", `${index + 1} ${view.name}`);
    tab.type = "button";
    if (view === state.view) tab.setAttribute("aria-current", "page");
    tab.onclick = () => show(view);
    return tab;
  }));
}

function drawRows() {
  const { rows, view } = state;
  const columns = view.columns;
  const isNumber = (column) => rows.some(row => typeof row[column] === "number");
  const head = element("tr");
  for (const column of columns) {
    const cell = element("th", undefined, isNumber(column) ? "number" : "");
    const order = element("button", column + (column === by() ? " ▾" : ""));
    order.type = "button";
    order.onclick = () => { state.by = column; refresh(); };
    cell.append(order);
    if (column === by()) cell.setAttribute("aria-sort", "descending");
    head.append(cell);
  }
  $("#rows thead").replaceChildren(head);
  $("#rows tbody").replaceChildren(...rows.map((row, index) => {
    const line = element("tr", undefined, view.warn(row));
    if (index === state.chosen) { line.classList.add("chosen"); line.setAttribute("aria-selected", "true"); }
    for (const column of columns)
      line.append(element("td", shown(row[column]), isNumber(column) ? "number" : ""));
    line.onclick = () => { state.chosen = index; open(row); };
    return line;
  }));
}

const by = () => state.by || state.view.by;

function open(row) {
  state.open = row;
  const panel = $("#detail");
  panel.hidden = !row;
  if (!row) return drawRows();
  panel.querySelector("h2").textContent = `${state.view.name}: ${row.name || row.channel || row.loginName}`;
  panel.querySelector("dl").replaceChildren(...Object.entries(row).map(([name, value]) => {
    const pair = element("div");
    pair.append(element("dt", name), element("dd", typeof value === "number" ? value.toLocaleString("en") : shown(value)));
    return pair;
  }));
  const acts = panel.querySelector(".acts");
  acts.replaceChildren(...ways(row).map(([view, wanted]) => {
    const button = element("button", `Show its ${view}`);
    button.type = "button";
    button.onclick = () => follow(view, wanted);
    return button;
  }));
  const act = (words, path) => {
    const button = element("button", words);
    button.type = "button";
    button.onclick = async () => {
      if (!confirm(`${words}?`)) return;
      const done = await fetch(path, { method: "POST" });
      note(done.ok ? `${words}: done` : `${words}: ${done.status}`);
      open(null);
    };
    acts.append(button);
  };
  const part = encodeURIComponent;
  if (state.view.name === "mounts") act(`Close mount ${row.channel}`, `v1/mounts/${part(row.at)}/${part(row.channel)}/close`);
  if (state.view.name === "users") act(`Log out ${row.loginName}`, `v1/users/${part(row.loginName)}/logout`);
  drawRows();
}

const ways = (row) => WAYS[state.view.name]?.(row) || [];

// Goes where a row leads; Escape comes back.
function follow(name, wanted) {
  const { view, filter, of, chosen } = state;
  state.way.push({ view, filter, of, chosen });
  go(VIEWS.find(view => view.name === name), wanted.filter || "", wanted.of ? wanted : null, 0);
}

function back() {
  const last = state.way.pop();
  if (last) go(last.view, last.filter, last.of, last.chosen);
}

const note = (words) => { $("#note").textContent = words; };

async function refresh() {
  const wanted = state.view;
  const query = new URLSearchParams({ by: by(), limit: ROWS, filter: state.filter, ...state.of });
  const answer = await fetch(`v1/${wanted.name}?${query}`);
  const said = await answer.json();
  if (wanted !== state.view) return;
  state.rows = said.rows || [];
  state.chosen = Math.min(state.chosen, Math.max(0, state.rows.length - 1));
  const missing = (said.unanswered || []).join("; ");
  const whose = state.of ? ` of mount ${state.of.of} at ${state.of.at}` : "";
  note(said.error || `${state.rows.length} rows${whose} by ${by()}${missing && ` · ${missing}`}`);
  drawRows();
}

function show(view) {
  state.way = [];
  go(view, state.filter, null, 0);
}

function go(view, filter, of, chosen) {
  Object.assign(state, { view, filter, of, chosen, by: null, open: null });
  $("#filter").value = filter;
  $("#detail").hidden = true;
  location.hash = view.name;
  drawTabs();
  refresh().catch(lost);
}

function lost() {
  $("#health").textContent = "no answer";
  $("#health").className = "bad";
}

async function turn() {
  if (!state.held && !document.hidden) {
    try {
      const all = await (await fetch("v1/counters")).json();
      all.at = performance.now();
      drawPlots(all);
      before = all;
      const ready = await fetch("readyz");
      $("#health").textContent = ready.ok ? "ready" : (await ready.text()).trim();
      $("#health").className = ready.ok ? "good" : "bad";
      await refresh();
    } catch { lost(); }
  }
  setTimeout(turn, PERIOD_MS);
}

function listen() {
  new EventSource("v1/events").onmessage = (message) => {
    const { time, level, msg, ...rest } = JSON.parse(message.data);
    const words = Object.entries(rest).map(([key, value]) => `${key}=${value}`).join(" ");
    const list = $("#events ol");
    list.prepend(element("li", `${String(time).slice(11, 23)} ${msg} ${words}`, level));
    while (list.children.length > EVENTS) list.lastChild.remove();
  };
}

document.addEventListener("keydown", (event) => {
  const isTyping = event.target.matches("input");
  if (event.key === "Escape") {
    if (!isTyping && !state.open) back();
    $("#filter").blur();
    return open(null);
  }
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  const move = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }[event.key];
  if (VIEWS[event.key - 1]) show(VIEWS[event.key - 1]);
  else if (move) {
    state.chosen = Math.min(Math.max(0, state.chosen + move), Math.max(0, state.rows.length - 1));
    drawRows();
    $("tr.chosen")?.scrollIntoView({ block: "nearest" });
  } else if (event.key === "Enter" && !event.target.matches("button")) {
    const way = state.open && ways(state.open)[0];
    if (way) follow(...way);
    else open(state.rows[state.chosen] || null);
  }
  else if (event.key === "/") $("#filter").focus();
  else if (event.key === "h") $("#hold").click();
  else if (event.key === "s" && state.rows.length) {
    const numbers = Object.keys(state.rows[0]).filter(column => typeof state.rows[0][column] === "number");
    state.by = numbers[(numbers.indexOf(by()) + 1) % numbers.length];
    refresh().catch(lost);
  } else return;
  event.preventDefault();
});
$("#filter").oninput = (event) => { state.filter = event.target.value; refresh().catch(lost); };
$("#hold").onclick = () => {
  state.held = !state.held;
  $("#hold").setAttribute("aria-pressed", String(state.held));
};
show(VIEWS.find(view => "#" + view.name === location.hash) || state.view);
listen();
turn();
