// The board: a row for each item, a column for each chosen field.

import { Cell, asText } from "./cell.js";

// The usual fields of a quote, in the order in which they are shown if an item
// has them and nobody chose others.
const USUAL_FIELDS = ["BID", "ASK", "TRDPRC_1", "NETCHNG_1", "PCTCHNG", "BIDSIZE", "ASKSIZE", "ACVOL_1"];

// Columns if an item has none of the usual fields, and most columns at all.
const OTHER_FIELDS = 4;
const MOST_COLUMNS = 12;

// What an item is called, which goes under its name.
const TITLE_FIELDS = ["DSPLY_NAME", "DSPLY_NMLL"];

const clock = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" });

function element(name, className, text = "") {
    const made = document.createElement(name);
    made.className = className;
    made.textContent = text;
    return made;
}

class Row {
    #cells = new Map();
    #state = element("span", "state");
    #note = element("span", "note");
    #changed = element("td", "time");
    #updates = element("td", "count");
    #end = element("td", "end");

    constructor(item, remove) {
        this.item = item;
        this.element = document.createElement("tr");
        this.element.setAttribute("aria-selected", "false");
        this.element.tabIndex = -1;
        const state = element("td", "condition");
        state.append(this.#state);
        const name = element("th", "name");
        name.scope = "row";
        name.append(element("span", "item", item.name), this.#note);
        const button = element("button", "remove", "×");
        button.type = "button";
        // The row has a key for it: one stop less on the way through the page.
        button.tabIndex = -1;
        button.setAttribute("aria-label", `Close ${item.name}`);
        button.addEventListener("click", (event) => {
            event.stopPropagation();
            remove();
        });
        this.#end.append(button);
        this.element.append(state, name, this.#updates, this.#changed, this.#end);
    }

    setColumns(columns) {
        for (const { element } of this.#cells.values()) element.remove();
        this.#cells = new Map(columns.map((field) => {
            const td = element("td", "value");
            this.#updates.before(td);
            return [field, { element: td, cell: new Cell(td) }];
        }));
        this.show();
    }

    show() {
        const { item } = this;
        for (const [field, { cell }] of this.#cells) {
            cell.write(item.fields.get(field));
        }
        this.element.dataset.condition = item.condition;
        this.#state.textContent = item.condition;
        const title = TITLE_FIELDS.map((field) => asText(item.fields.get(field))).find((text) => text !== "");
        const why = [item.code, item.text].filter((text) => text !== "").join(": ");
        this.#note.textContent = (item.condition === "ok" ? title : why) ?? "";
        this.#note.title = why;
        this.#updates.textContent = String(item.updates);
        this.#changed.textContent = item.changedAt === 0 ? "" : clock.format(item.changedAt);
    }
}

/** `told`: `chosen(item or null)`, `removed(item)`, `left()`, `columns(names)`. */
export class Board {
    #body;
    #head;
    #told;
    #rows = new Map();
    #columns;
    #hasChosenColumns;
    #chosen = null;

    constructor(table, columns, told) {
        this.#body = table.tBodies[0];
        this.#head = table.tHead.rows[0];
        this.#told = told;
        this.#hasChosenColumns = columns.length > 0;
        this.#columns = columns.slice(0, MOST_COLUMNS);
        this.#showHead();
        this.#body.addEventListener("keydown", (event) => this.#key(event));
        for (const kind of ["click", "focusin"]) {
            this.#body.addEventListener(kind, (event) => this.#chooseRow(event.target.closest("tr")));
        }
    }

    get columns() {
        return this.#columns;
    }

    /** The columns, if they are the user's own choice. */
    get chosenColumns() {
        return this.#hasChosenColumns ? this.#columns : [];
    }

    /** Shows an item as it is now. */
    show(item) {
        const row = this.#rows.get(item) ?? this.#add(item);
        if (!this.#hasChosenColumns) this.#adopt(item);
        row.show();
    }

    remove(item) {
        const row = this.#rows.get(item);
        if (row === undefined) return;
        const hadFocus = row.element.contains(document.activeElement);
        const next = row.element.nextElementSibling ?? row.element.previousElementSibling;
        this.#rows.delete(item);
        row.element.remove();
        if (this.#chosen !== item) return;
        this.#chosen = null;
        this.#chooseRow(next);
        if (!hadFocus) return;
        if (next === null) this.#told.left();
        else next.focus();
    }

    /** Makes an item the chosen one. */
    choose(item) {
        this.#chooseRow(this.#rows.get(item)?.element ?? null);
    }

    /** Goes to the chosen row with the keyboard. */
    focus() {
        this.#rows.get(this.#chosen)?.element.focus();
    }

    /** A column more, or one less. */
    toggleColumn(field) {
        const others = this.#columns.filter((name) => name !== field);
        const isNew = others.length === this.#columns.length;
        if (isNew && others.length >= MOST_COLUMNS) return;
        this.#hasChosenColumns = true;
        this.#setColumns(isNew ? [...others, field] : others);
    }

    // ---- rows

    #add(item) {
        const row = new Row(item, () => this.#told.removed(item));
        this.#rows.set(item, row);
        row.setColumns(this.#columns);
        this.#body.append(row.element);
        if (this.#chosen === null) this.#chooseRow(row.element);
        return row;
    }

    #itemOf(element) {
        return [...this.#rows].find(([, row]) => row.element === element)?.[0] ?? null;
    }

    #chooseRow(element) {
        const item = element && this.#itemOf(element);
        if (item !== null && item === this.#chosen) return;
        for (const [other, row] of this.#rows) {
            // Tab stops at one row of the board; the arrow keys go on from there.
            row.element.tabIndex = other === item ? 0 : -1;
            row.element.setAttribute("aria-selected", String(other === item));
        }
        this.#chosen = item;
        this.#told.chosen(item);
    }

    #key(event) {
        const row = event.target.closest("tr");
        const goTo = {
            ArrowDown: row.nextElementSibling,
            ArrowUp: row.previousElementSibling,
            Home: this.#body.firstElementChild,
            End: this.#body.lastElementChild,
        };
        if (event.key in goTo) {
            goTo[event.key]?.focus();
        } else if (event.key === "Delete" || event.key === "Backspace") {
            this.#told.removed(this.#itemOf(row));
        } else if (event.key === "Escape" || event.key === "/") {
            this.#told.left();
        } else {
            return;
        }
        event.preventDefault();
    }

    // ---- columns

    // While nobody chose any, columns are what the items turn out to have.
    #adopt(item) {
        const names = [...item.fields.keys()];
        const usual = USUAL_FIELDS.filter((name) => this.#columns.includes(name) || item.fields.has(name));
        const others = this.#columns.filter((name) => !USUAL_FIELDS.includes(name));
        let columns = [...usual, ...others];
        if (columns.length === 0) {
            columns = names.filter((name) => !TITLE_FIELDS.includes(name)).slice(0, OTHER_FIELDS);
        }
        if (columns.join() !== this.#columns.join()) this.#setColumns(columns);
    }

    #setColumns(columns) {
        this.#columns = columns;
        this.#showHead();
        for (const row of this.#rows.values()) row.setColumns(columns);
        this.#told.columns(columns);
    }

    #showHead() {
        for (const old of this.#head.querySelectorAll(".value")) old.remove();
        const before = this.#head.querySelector(".count");
        for (const field of this.#columns) {
            const th = element("th", "value", field);
            th.scope = "col";
            before.before(th);
        }
    }
}
