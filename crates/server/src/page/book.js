// The book of the chosen item, where its service has one: session and auction, the
// best prices of both sides, the last trades.

import { asText } from "./cell.js";

// Prices a side, and trades, that are shown.
const LEVELS = 10;
const TRADES = 12;

// The side of buyers, as a number or by its name in the dictionary.
const BUY = ["1", "BID", "BUY"];

const SESSIONS = {
    CLSD: "Closed",
    OCALL: "Opening call",
    REG: "Regular trading",
    CCALL: "Closing call",
    CPX: "Closing price trading",
    POST: "After the close",
    HALT: "Halted",
};

const clock = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium", timeZone: "UTC" });

function cell(className, text) {
    const made = document.createElement("td");
    made.className = className;
    made.textContent = text;
    return made;
}

export class BookView {
    #root;
    #item = null;
    #trades = [];

    constructor(root) {
        this.#root = root;
    }

    /** Shows the book of this item, or none. */
    choose(item) {
        if (item === this.#item) return;
        this.#item = item;
        this.#trades = [];
        this.#root.hidden = true;
    }

    /** An update of an item has come: a trade may be in it. */
    update(item, fields) {
        if (item !== this.#item || fields.TRDPRC_1 === undefined || fields.TRDVOL_1 === undefined) return;
        const at = Number(item.fields.get("SALTIM_MS"));
        this.#trades.unshift({ at, price: asText(fields.TRDPRC_1), size: asText(fields.TRDVOL_1) });
        this.#trades.length = Math.min(this.#trades.length, TRADES);
    }

    /** Shows it as it is now. */
    show(book) {
        const isThere = book !== null && book.stream === "Open" && this.#item !== null;
        this.#root.hidden = !isThere;
        if (!isThere) return;
        this.#root.dataset.condition = book.condition;
        this.#part("h2").textContent = `Book of ${book.name}`;
        this.#showSession(this.#item.fields);
        this.#showLevels([...book.rows.values()]);
        const rows = this.#trades.map(({ at, price, size }) => {
            const row = document.createElement("tr");
            const time = Number.isFinite(at) ? clock.format(at) : "";
            row.append(cell("time", time), cell("value", size), cell("value", price));
            return row;
        });
        this.#part(".trades tbody").replaceChildren(...rows);
    }

    #part(selector) {
        return this.#root.querySelector(selector);
    }

    #showSession(fields) {
        const status = asText(fields.get("MKT_STATUS")).trim();
        const session = this.#part(".session");
        session.textContent = SESSIONS[status] ?? status;
        session.dataset.session = status;
        const price = asText(fields.get("IND_AUC"));
        const auction = this.#part(".auction");
        auction.hidden = price === "";
        auction.querySelector(".price").textContent = price;
        auction.querySelector(".size").textContent = asText(fields.get("IND_AUCVOL"));
    }

    #showLevels(rows) {
        const price = (row) => Number(row.get("ORDER_PRC"));
        const ofSide = (isBuy) => rows.filter((row) => BUY.includes(asText(row.get("ORDER_SIDE")).trim()) === isBuy);
        const bids = ofSide(true).sort((a, b) => price(b) - price(a)).slice(0, LEVELS);
        const asks = ofSide(false).sort((a, b) => price(a) - price(b)).slice(0, LEVELS);
        const size = (row) => Number(row?.get("ORDER_SIZE") ?? 0);
        const most = Math.max(1, ...[...bids, ...asks].map(size));
        const text = (row, field) => asText(row?.get(field));
        const shown = Array.from({ length: LEVELS }, (_, at) => {
            const [bid, ask] = [bids[at], asks[at]];
            const row = document.createElement("tr");
            const sizes = [bid, ask].map((level, side) => {
                const made = cell(`value ${side === 0 ? "bid" : "ask"}`, text(level, "ORDER_SIZE"));
                made.style.setProperty("--part", `${(size(level) / most) * 100}%`);
                return made;
            });
            row.append(
                cell("count", text(bid, "NO_ORD")), sizes[0], cell("value bid-price", text(bid, "ORDER_PRC")),
                cell("value ask-price", text(ask, "ORDER_PRC")), sizes[1], cell("count", text(ask, "NO_ORD")),
            );
            return row;
        });
        this.#part(".levels tbody").replaceChildren(...shown);
    }
}
