// Rates and delays, a second at a time, and their lines.

const SECONDS = 60;

// The field in which publishers put the time of an update, in microseconds of
// a clock of their own.
const STAMP_FIELD = "TIM_TRK_1";

// Delays of one second that are looked at; further ones only count.
const MOST_SAMPLES = 2_000;

/** The smallest of the last minute, and all of the current second. */
class Delays {
    #seconds = [];
    #samples = [];

    add(ms) {
        if (this.#samples.length < MOST_SAMPLES) this.#samples.push(ms);
    }

    /** Ends a second: its samples in order, and the smallest of the minute. */
    second() {
        const samples = this.#samples.sort((a, b) => a - b);
        this.#samples = [];
        this.#seconds.push(samples[0] ?? Infinity);
        if (this.#seconds.length > SECONDS) this.#seconds.shift();
        return { samples, least: Math.min(...this.#seconds) };
    }

    clear() {
        this.#seconds = [];
        this.#samples = [];
    }
}

/** The line of a value over the last minute. */
class Line {
    #path;
    #values = [];

    constructor(path) {
        this.#path = path;
    }

    push(value) {
        this.#values.push(value);
        if (this.#values.length > SECONDS) this.#values.shift();
        const most = Math.max(...this.#values, Number.MIN_VALUE);
        const begin = SECONDS - this.#values.length;
        const points = this.#values.map((value, at) => `${begin + at},${(1 - value / most) * 20 + 1}`);
        this.#path.setAttribute("points", points.join(" "));
    }
}

const grouped = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

function milliseconds(ms) {
    return ms < 10 ? ms.toFixed(2) : grouped.format(ms);
}

function bytes(count) {
    if (count < 1_000) return [grouped.format(count), "B/s"];
    return count < 1_000_000
        ? [(count / 1_000).toFixed(1), "kB/s"]
        : [(count / 1_000_000).toFixed(1), "MB/s"];
}

/** The figures of the element's `data-gauge` parts. */
export class Gauges {
    #parts = {};
    #updates = 0;
    #characters = 0;
    #stamps = new Delays();
    #roundTrips = new Delays();
    #stampedAgo = Infinity;
    #last = performance.now();
    #latency = null;

    constructor(root) {
        for (const part of root.querySelectorAll("[data-gauge]")) {
            const line = part.querySelector("polyline");
            this.#parts[part.dataset.gauge] = {
                value: part.querySelector(".figure"),
                unit: part.querySelector(".unit"),
                note: part.querySelector(".note"),
                line: line && new Line(line),
            };
        }
    }

    received(characters) {
        this.#characters += characters;
    }

    update(fields) {
        this.#updates += 1;
        const stamp = Number(fields[STAMP_FIELD] ?? NaN);
        if (stamp > 0) this.#stamps.add(performance.now() - stamp / 1_000);
    }

    roundTrip(ms) {
        this.#roundTrips.add(ms);
    }

    /** A new connection: other clocks, another way. */
    restart() {
        this.#stamps.clear();
        this.#roundTrips.clear();
        this.#latency = null;
        this.#stampedAgo = Infinity;
    }

    /** Shows the second that is over; `items` by their condition. */
    second(items) {
        const now = performance.now();
        const seconds = Math.max((now - this.#last) / 1_000, 0.001);
        this.#last = now;
        const rate = this.#updates / seconds;
        this.#show("rate", grouped.format(rate), "", rate);
        const traffic = this.#characters / seconds;
        this.#show("traffic", ...bytes(traffic), traffic);
        this.#updates = 0;
        this.#characters = 0;
        this.#showLatency();
        this.#showItems(items);
    }

    // The publisher's clock is not the browser's, so a stamp tells only how
    // much longer an update took than the fastest of the last minute. That one
    // is taken for half of the fastest round trip.
    #showLatency() {
        const trips = this.#roundTrips.second();
        const stamps = this.#stamps.second();
        this.#stampedAgo = stamps.samples.length > 0 ? 0 : this.#stampedAgo + 1;
        const isStamped = this.#stampedAgo < SECONDS && trips.least < Infinity;
        const { samples } = isStamped ? stamps : trips;
        const base = isStamped ? stamps.least - trips.least / 2 : 0;
        if (samples.length > 0) {
            this.#latency = samples[Math.floor(samples.length / 2)] - base;
            this.#parts.latency.line.push(this.#latency);
        }
        const part = this.#parts.latency;
        part.value.textContent = this.#latency === null ? "–" : milliseconds(this.#latency);
        const trip = milliseconds(trips.least);
        part.note.textContent = isStamped
            ? `one way, by ${STAMP_FIELD}: the fastest counts as half the ping of ${trip} ms`
            : "round trip of a ping to the server";
    }

    #showItems(items) {
        const counts = { ok: 0, stale: 0, closed: 0, asking: 0 };
        let all = 0;
        for (const item of items) {
            counts[item.condition] += 1;
            all += 1;
        }
        const parts = Object.entries(counts).filter(([, count]) => count > 0);
        const words = parts.map(([condition, count]) => `${count} ${condition}`).join(", ");
        this.#parts.items.value.textContent = grouped.format(all);
        this.#parts.items.note.textContent = words || "none asked for";
    }

    #show(name, figure, unit, value) {
        const part = this.#parts[name];
        part.value.textContent = figure;
        if (unit !== "") part.unit.textContent = unit;
        part.line.push(value);
    }
}
