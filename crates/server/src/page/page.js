// The page: which part tells which.

import { Board } from "./board.js";
import { BookView } from "./book.js";
import { Fields } from "./fields.js";
import { Gauges } from "./gauges.js";
import { MAX_ITEMS, Mount } from "./mount.js";

// Changes of state are read out together, after this pause.
const SAY_AFTER_MS = 400;
const MOST_NAMES_SAID = 3;

const byId = (id) => document.getElementById(id);
const form = byId("ask");
const { service: serviceInput, items: itemsInput, user: userInput } = form.elements;

// What is watched is in the address: a bookmark of it is a watchlist.
const address = new URLSearchParams(location.search);

const socketAddress = new URL("WebSocket", location.href);
socketAddress.protocol = location.protocol === "https:" ? "wss:" : "ws:";
socketAddress.search = "";

const gauges = new Gauges(byId("gauges"));
const fields = new Fields(byId("fields"), { toggled: (field) => board.toggleColumn(field) });
const book = new BookView(byId("book"));
let chosen = null;
const board = new Board(byId("board"), address.getAll("field"), {
    chosen: (item) => {
        chosen = item;
        fields.choose(item);
        book.choose(item);
        mount.watchLevels(item);
    },
    removed: (item) => remove(item),
    left: () => itemsInput.focus(),
    columns: (columns) => {
        fields.setColumns(columns);
        remember();
    },
});
fields.setColumns(board.columns);

// ---- drawing: at most once a frame, and only what changed

const changed = new Set();
let isDrawing = false;
let isHeld = false;
let levels = null;

function draw(item) {
    if (item !== null) changed.add(item);
    if (isDrawing) return;
    isDrawing = true;
    requestAnimationFrame(() => {
        isDrawing = false;
        if (isHeld) return;
        book.show(levels);
        for (const item of changed) {
            if (mount.items.get(item.key) !== item) continue;
            board.show(item);
            fields.show(item);
        }
        changed.clear();
    });
}

// ---- what is read out

const toSay = new Map();

function say(item) {
    if (toSay.size === 0) setTimeout(sayAll, SAY_AFTER_MS);
    toSay.set(item, item.condition);
}

function sayAll() {
    const conditions = new Map();
    for (const [item, condition] of toSay) {
        conditions.set(condition, [...(conditions.get(condition) ?? []), item]);
    }
    const parts = [...conditions].map(([condition, items]) => {
        const names = items.map((item) => item.name).join(", ");
        const who = items.length > MOST_NAMES_SAID ? `${items.length} items` : names;
        const why = items.length === 1 ? items[0].text : "";
        return `${who} ${condition}${why === "" ? "" : `, ${why}`}`;
    });
    toSay.clear();
    byId("said").textContent = parts.join("; ");
}

// ---- the connection

let retryAt = 0;

const PHASES = {
    connecting: "Connecting",
    up: "Connected",
    lost: "Not connected",
    refused: "Login refused",
};

function showConnection({ phase, text, retryAt: at = 0 }) {
    const shown = byId("connection");
    shown.dataset.phase = phase;
    shown.querySelector(".words").textContent = PHASES[phase];
    shown.title = text;
    byId("trouble").textContent = phase === "up" ? "" : text;
    byId("retry").hidden = phase !== "lost" && phase !== "refused";
    retryAt = at;
    showCountdown();
    if (phase !== "connecting") gauges.restart();
}

function showCountdown() {
    const seconds = Math.ceil((retryAt - Date.now()) / 1_000);
    byId("countdown").textContent = retryAt > 0 && seconds > 0 ? `next try in ${seconds} s` : "";
}

// The user's choice, which is kept while there is no such service.
let chosenService = address.get("service") ?? "";

function showServices(services) {
    mount.watchLevels(chosen);
    const isThere = services.some(({ name }) => name === chosenService);
    const wanted = isThere ? chosenService : serviceInput.value;
    const options = services.map(({ name, isUp }) => {
        const option = new Option(isUp ? name : `${name} (down)`, name);
        option.selected = name === wanted;
        return option;
    });
    serviceInput.replaceChildren(...options);
    serviceInput.disabled = options.length === 0;
    if (options.length === 0) serviceInput.append(new Option("no service yet", ""));
}

const mount = new Mount(socketAddress.href, {
    connection: showConnection,
    services: showServices,
    image: draw,
    update: (item, updated) => {
        gauges.update(updated);
        book.update(item, updated);
        draw(item);
    },
    state: (item) => {
        say(item);
        draw(item);
    },
    levels: (watched) => {
        levels = watched;
        draw(null);
    },
    roundTrip: (ms) => gauges.roundTrip(ms),
    received: (characters) => gauges.received(characters),
});

// ---- items

function remember() {
    const query = new URLSearchParams();
    if (userInput.value !== userInput.defaultValue) query.set("user", userInput.value);
    const service = chosenService || serviceInput.value;
    if (service !== "") query.set("service", service);
    for (const item of mount.items.values()) query.append("item", item.key);
    for (const field of board.chosenColumns) query.append("field", field);
    history.replaceState(null, "", query.size === 0 ? location.pathname : `?${query}`);
}

function open(service, name) {
    if (mount.items.size >= MAX_ITEMS && !mount.items.has(`${service}/${name}`)) {
        byId("said").textContent = `${name} is not opened: ${MAX_ITEMS} items are the most of a page`;
        return null;
    }
    const item = mount.open(service, name);
    board.show(item);
    byId("empty").hidden = true;
    return item;
}

function remove(item) {
    mount.close(item);
    board.remove(item);
    byId("empty").hidden = mount.items.size > 0;
    byId("said").textContent = `${item.name} is closed`;
    remember();
}

form.addEventListener("submit", (event) => {
    event.preventDefault();
    const names = itemsInput.value.split(/[\s,;]+/).filter((name) => name !== "");
    if (serviceInput.value === "" || names.length === 0) return;
    const opened = names.map((name) => open(serviceInput.value, name)).filter((item) => item !== null);
    if (opened.length > 0) board.choose(opened[0]);
    itemsInput.value = "";
    remember();
});

itemsInput.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowDown") return;
    event.preventDefault();
    board.focus();
});

userInput.addEventListener("change", () => {
    if (userInput.value.trim() === "") userInput.value = userInput.defaultValue;
    remember();
    mount.connectAs(userInput.value.trim());
});

serviceInput.addEventListener("change", () => {
    chosenService = serviceInput.value;
    remember();
});

byId("retry").addEventListener("click", () => mount.retryNow());

byId("hold").addEventListener("click", ({ currentTarget }) => {
    isHeld = !isHeld;
    currentTarget.setAttribute("aria-pressed", String(isHeld));
    document.body.classList.toggle("held", isHeld);
    for (const item of mount.items.values()) draw(item);
});

// Who was away from the network need not wait for the next attempt.
addEventListener("online", () => mount.retryNow());

setInterval(() => {
    gauges.second(mount.items.values());
    showCountdown();
}, 1_000);

userInput.value = address.get("user") ?? userInput.defaultValue;
for (const key of address.getAll("item")) {
    const slash = key.indexOf("/");
    if (slash > 0) open(key.slice(0, slash), key.slice(slash + 1));
}
gauges.second(mount.items.values());
mount.connectAs(userInput.value);
