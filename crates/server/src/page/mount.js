// A mount: one WebSocket to the server, and the items that are open on it.
//
// Speaks the vendor's JSON protocol, as any client of the port does. It keeps
// itself alive: a lost connection is tried again with growing pauses, and every
// item is asked for again on the new one. Of the page it knows nothing.

const SUBPROTOCOLS = ["tr_json2", "rssl.json.v2"];

const LOGIN_ID = 1;
const DIRECTORY_ID = 2;
const FIRST_ITEM_ID = 3;

// Filter of a directory request: what services are called, and how they are.
const INFO = 1;
const STATE = 2;

const RETRY_LEAST_MS = 500;
const RETRY_MOST_MS = 8_000;
const CONNECT_MOST_MS = 10_000;
const PING_EVERY_MS = 2_000;
const REASK_AFTER_MS = 5_000;
const USUAL_PING_TIMEOUT_S = 30;

// Most items of a page. The server has a limit of its own.
export const MAX_ITEMS = 500;

// Requests in one frame: far below the 61,440 bytes that a server takes.
const REQUESTS_PER_FRAME = 100;

/** An item, as the last messages left it. */
export class Item {
    constructor(service, name) {
        this.service = service;
        this.name = name;
        this.fields = new Map();
        this.updates = 0;
        /** When the last image or update came, in milliseconds since 1970. */
        this.changedAt = 0;
        this.setState("Asking", "Suspect", "", "asked for, no answer yet");
    }

    setState(stream, data, code, text) {
        this.stream = stream;
        this.data = data;
        this.code = code;
        this.text = text;
    }

    /** `asking`, `ok`, `stale` or `closed`: the one word for both states. */
    get condition() {
        if (this.stream === "Asking") return "asking";
        if (this.stream !== "Open") return "closed";
        return this.data === "Ok" ? "ok" : "stale";
    }

    /** Whether it still has, or may yet get, a stream. */
    get isWanted() {
        return ["Asking", "Open", "ClosedRecover"].includes(this.stream);
    }

    get key() {
        return `${this.service}/${this.name}`;
    }
}

/** The price levels of an item, by their keys; each has its fields. */
export class Levels extends Item {
    constructor(service, name) {
        super(service, name);
        this.domain = "MarketByPrice";
        this.rows = new Map();
    }

    apply(entries) {
        for (const { Action, Key, Fields = {} } of entries) {
            if (Action === "Delete") {
                this.rows.delete(Key);
                continue;
            }
            const row = Action === "Add" ? new Map() : this.rows.get(Key) ?? new Map();
            for (const [name, value] of Object.entries(Fields)) row.set(name, value);
            this.rows.set(Key, row);
        }
    }
}

// Numbers keep the digits they were written with: 101.50 is not 101.5 to a
// trader, and 64 bits do not fit a double. Browsers that do not show a reviver
// the source give the plain number.
function asWritten(_key, value, context) {
    const isChanged = typeof value === "number" && context?.source !== undefined
        && context.source !== String(value);
    return isChanged ? context.source : value;
}

// An element is bare, or says its type.
function plain(element) {
    return element !== null && typeof element === "object" ? element.Data : element;
}

/**
 * `told` is called with what happens:
 *
 *     connection({ phase, text, retryAt })  phase: connecting, up, lost, refused
 *     services([{ name, isUp }])            the directory, in its order
 *     image(item), update(item, fields)     fields: those of the update
 *     state(item)                           its state is another
 *     levels(levels or null)                those that are watched are others
 *     roundTrip(ms)                         a ping was answered
 *     received(characters, messages)        a frame
 */
export class Mount {
    #told;
    #address;
    #user = "";
    #socket = null;
    #isLoggedIn = false;
    #items = new Map();
    #levels = null;
    #byId = new Map();
    #nextId = FIRST_ITEM_ID;
    #services = new Map();
    #failures = 0;
    #retry = 0;
    #reask = 0;
    #pinger = 0;
    #pingedAt = 0;
    #heardAt = 0;
    #silenceMs = USUAL_PING_TIMEOUT_S * 1000;

    constructor(address, told) {
        this.#address = address;
        this.#told = told;
    }

    get items() {
        return this.#items;
    }

    /** Connects as this user, leaving the connection there may be. */
    connectAs(user) {
        if (this.#isLoggedIn) this.#suspect("asked for again, as another user");
        this.#user = user;
        this.#failures = 0;
        this.#drop();
        this.#connect();
    }

    /** Connects at once if there is a pause between two attempts, or no next one. */
    retryNow() {
        if (this.#socket === null && this.#user !== "") this.#connect();
    }

    /** Opens an item; one that is there and closed is asked for again. */
    open(service, name) {
        const known = this.#items.get(`${service}/${name}`);
        const item = known ?? new Item(service, name);
        if (known === undefined) {
            this.#items.set(item.key, item);
        } else if (item.condition !== "closed") {
            return item;
        }
        item.setState("Asking", "Suspect", "", "asked for, no answer yet");
        if (this.#isLoggedIn && !this.#isAsked(item)) this.#send(this.#request(item));
        this.#told.state(item);
        return item;
    }

    /** Ends the interest in an item. */
    close(item) {
        this.#items.delete(item.key);
        if (this.#leave(item)) this.#send({ ID: item.id, Type: "Close" });
    }

    /** Watches the price levels of an item, if its service has them, and of no other. */
    watchLevels(item) {
        const [service, name] = [item?.service, item?.name];
        if (this.#levels?.service === service && this.#levels?.name === name) return;
        if (this.#levels !== null && this.#leave(this.#levels)) {
            this.#send({ ID: this.#levels.id, Type: "Close" });
        }
        const hasThem = [...this.#services.values()].some((known) => known.name === service && known.hasLevels);
        this.#levels = hasThem ? new Levels(service, name) : null;
        if (hasThem && this.#isLoggedIn) this.#send(this.#request(this.#levels));
        this.#told.levels(this.#levels);
    }

    // ---- the connection

    #connect() {
        clearTimeout(this.#retry);
        this.#told.connection({ phase: "connecting", text: "" });
        const socket = new WebSocket(this.#address, SUBPROTOCOLS);
        this.#socket = socket;
        this.#heardAt = performance.now();
        // Events of a socket that was left are nobody's any more.
        const isOurs = (handle) => (event) => { if (this.#socket === socket) handle(event); };
        socket.onopen = isOurs(() => this.#login());
        socket.onmessage = isOurs((event) => this.#frame(event.data));
        socket.onclose = isOurs((event) => this.#lost(event.reason || "the connection was lost"));
        this.#pinger = setInterval(isOurs(() => this.#keepAlive()), PING_EVERY_MS);
    }

    #login() {
        const Elements = { ApplicationId: "256", ApplicationName: "page", Position: "127.0.0.1/net" };
        this.#send({ ID: LOGIN_ID, Domain: "Login", Key: { Name: this.#user, Elements } });
    }

    #keepAlive() {
        const silentMs = performance.now() - this.#heardAt;
        if (this.#isLoggedIn && silentMs > this.#silenceMs) {
            this.#lost("nothing was heard for too long");
        } else if (!this.#isLoggedIn && silentMs > CONNECT_MOST_MS) {
            this.#lost("there was no answer");
        } else if (this.#isLoggedIn && this.#pingedAt === 0) {
            this.#pingedAt = performance.now();
            this.#send({ Type: "Ping" });
        }
    }

    // Leaves the connection, with whatever belonged to it.
    #drop() {
        clearTimeout(this.#retry);
        clearTimeout(this.#reask);
        clearInterval(this.#pinger);
        this.#reask = 0;
        const socket = this.#socket;
        this.#socket = null;
        this.#isLoggedIn = false;
        this.#pingedAt = 0;
        this.#byId.clear();
        this.#nextId = FIRST_ITEM_ID;
        this.#services.clear();
        socket?.close();
    }

    #lost(reason) {
        this.#drop();
        const most = Math.min(RETRY_MOST_MS, RETRY_LEAST_MS * 2 ** this.#failures);
        this.#failures += 1;
        // Spread, so that a thousand pages do not come back as one.
        const pauseMs = most * (0.5 + Math.random() / 2);
        this.#retry = setTimeout(() => this.#connect(), pauseMs);
        this.#told.connection({ phase: "lost", text: reason, retryAt: Date.now() + pauseMs });
        this.#suspect("the connection was lost");
    }

    #send(message) {
        if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message));
    }

    // ---- what comes

    #frame(text) {
        this.#heardAt = performance.now();
        let frame;
        try {
            frame = [JSON.parse(text, asWritten)].flat();
        } catch {
            this.#lost("the server sent something that is no JSON");
            return;
        }
        this.#told.received(text.length, frame.length);
        frame.forEach((message) => this.#message(message));
    }

    #message(message) {
        if (message.Type === "Ping") return this.#send({ Type: "Pong" });
        if (message.Type === "Pong") return this.#pong();
        if (message.ID === LOGIN_ID) return this.#loginAnswer(message);
        if (message.ID === DIRECTORY_ID) return this.#directory(message);
        // What is nobody's may be a login by cookies: the server makes one of
        // its own for a token that another application of this host has left,
        // and gives it up for that of this page.
        const item = this.#byId.get(message.ID);
        if (item === undefined) return undefined;
        switch (message.Type) {
            case "Refresh": return this.#image(item, message);
            case "Update": return this.#update(item, message);
            case "Status": return this.#state(item, message.State ?? {});
            case "Error": return this.#state(item, { Stream: "Closed", Data: "Suspect", Text: message.Text });
            default: return undefined;
        }
    }

    #pong() {
        if (this.#pingedAt === 0) return;
        this.#told.roundTrip(performance.now() - this.#pingedAt);
        this.#pingedAt = 0;
    }

    #loginAnswer(message) {
        const { Stream, Text = "" } = message.State ?? {};
        if (message.Type === "Error" || (Stream !== undefined && Stream !== "Open")) {
            this.#drop();
            this.#told.connection({ phase: "refused", text: message.Text ?? Text });
            this.#suspect("there is no login");
            return;
        }
        if (message.Type !== "Refresh" || this.#isLoggedIn) return;
        const timeoutS = Number(plain(message.Elements?.PingTimeout ?? USUAL_PING_TIMEOUT_S));
        this.#silenceMs = (timeoutS || USUAL_PING_TIMEOUT_S) * 1000;
        this.#isLoggedIn = true;
        this.#failures = 0;
        this.#told.connection({ phase: "up", text: Text });
        this.#send({ ID: DIRECTORY_ID, Domain: "Source", Key: { Filter: INFO | STATE } });
        this.#ask([...this.#items.values()].filter((item) => item.isWanted));
        this.#keepAlive();
    }

    #directory(message) {
        if (message.Type === "Refresh" && message.ClearCache !== false) this.#services.clear();
        for (const { Action, Key, FilterList } of message.Map?.Entries ?? []) {
            if (Action === "Delete") {
                this.#services.delete(Key);
                continue;
            }
            const service = this.#services.get(Key) ?? { name: String(Key), isUp: true };
            this.#services.set(Key, service);
            for (const { ID, Elements = {} } of FilterList?.Entries ?? []) {
                if (ID === 1 && Elements.Name !== undefined) service.name = plain(Elements.Name);
                if (ID === 1 && Elements.Capabilities !== undefined) {
                    const domains = [plain(plain(Elements.Capabilities))].flat();
                    service.hasLevels = domains.some((domain) => domain === 8 || domain === "MarketByPrice");
                }
                if (ID === 2 && Elements.ServiceState !== undefined) {
                    service.isUp = plain(Elements.ServiceState) !== 0;
                }
            }
        }
        this.#told.services([...this.#services.values()]);
    }

    // ---- items

    #request(item) {
        item.id = this.#nextId;
        this.#nextId += 1;
        this.#byId.set(item.id, item);
        const domain = item.domain === undefined ? {} : { Domain: item.domain };
        return { ID: item.id, ...domain, KeyInUpdates: false, Key: { Service: item.service, Name: item.name } };
    }

    // Whether it has a stream on this connection, or asked for one. Its ID alone
    // does not tell: IDs begin anew with each connection.
    #isAsked(item) {
        return this.#byId.get(item.id) === item;
    }

    #leave(item) {
        return this.#isAsked(item) && this.#byId.delete(item.id);
    }

    // What is shown of the wanted items is of a connection that is over.
    #suspect(why) {
        // Whoever shows them asks for the levels again.
        this.#levels = null;
        this.#told.levels(null);
        for (const item of this.#items.values()) {
            if (!item.isWanted) continue;
            item.setState(item.stream, "Suspect", "", why);
            this.#told.state(item);
        }
    }

    #ask(items) {
        const requests = items.map((item) => this.#request(item));
        for (let at = 0; at < requests.length; at += REQUESTS_PER_FRAME) {
            this.#send(requests.slice(at, at + REQUESTS_PER_FRAME));
        }
    }

    #image(item, message) {
        if (item === this.#levels && message.ClearCache !== false) item.rows.clear();
        if (item === this.#levels) item.apply(message.Map?.Entries ?? []);
        if (message.ClearCache !== false) item.fields.clear();
        for (const [name, value] of Object.entries(message.Fields ?? {})) item.fields.set(name, value);
        item.changedAt = Date.now();
        this.#state(item, message.State ?? {});
        if (item !== this.#levels) this.#told.image(item);
    }

    #update(item, message) {
        if (item === this.#levels) {
            item.apply(message.Map?.Entries ?? []);
            this.#told.levels(item);
            return;
        }
        const fields = message.Fields ?? {};
        for (const [name, value] of Object.entries(fields)) item.fields.set(name, value);
        item.updates += 1;
        item.changedAt = Date.now();
        this.#told.update(item, fields);
    }

    // What a state does not say stays as it was.
    #state(item, { Stream, Data, Code = "", Text = "" }) {
        const data = Data === undefined || Data === "NoChange" ? item.data : Data;
        item.setState(Stream ?? item.stream, data, Code, Text);
        if (item.stream !== "Open") this.#leave(item);
        if (item === this.#levels) {
            this.#told.levels(item);
            return;
        }
        if (item.stream === "ClosedRecover") this.#reaskLater();
        this.#told.state(item);
    }

    // ClosedRecover: nobody but the consumer asks again.
    #reaskLater() {
        if (this.#reask !== 0) return;
        this.#reask = setTimeout(() => {
            this.#reask = 0;
            const isToAsk = (item) => item.stream === "ClosedRecover" && !this.#isAsked(item);
            this.#ask([...this.#items.values()].filter(isToAsk));
        }, REASK_AFTER_MS);
    }
}
