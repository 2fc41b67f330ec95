// All fields of one item.

import { Cell } from "./cell.js";

/** `told`: `toggled(field)`, a column of the board more or less. */
export class Fields {
    #root;
    #body;
    #filter;
    #template;
    #told;
    #item = null;
    #columns = [];
    #rows = new Map();

    constructor(root, told) {
        this.#root = root;
        this.#told = told;
        this.#body = root.querySelector("tbody");
        this.#filter = root.querySelector("[type=search]");
        this.#template = root.querySelector("template");
        this.#filter.addEventListener("input", () => this.#applyFilter());
    }

    /** Shows this item, or none. */
    choose(item) {
        if (item === this.#item) return;
        this.#item = item;
        this.#rows.clear();
        this.#body.replaceChildren();
        this.#root.hidden = item === null;
        this.show(item);
    }

    setColumns(columns) {
        this.#columns = columns;
        for (const [field, row] of this.#rows) this.#showPin(field, row);
    }

    /** Shows the item as it is now, if it is the chosen one. */
    show(item) {
        if (item === null || item !== this.#item) return;
        this.#part("h2").textContent = item.name;
        this.#part(".service").textContent = item.service;
        this.#part(".state").textContent = `${item.stream} / ${item.data}`;
        this.#root.dataset.condition = item.condition;
        this.#part(".why").textContent = [item.code, item.text].filter((text) => text !== "").join(": ");
        for (const field of this.#rows.keys()) {
            if (!item.fields.has(field)) this.#removeRow(field);
        }
        for (const [field, value] of item.fields) {
            (this.#rows.get(field) ?? this.#addRow(field)).cell.write(value);
        }
        this.#part(".none").hidden = item.fields.size > 0;
    }

    #part(selector) {
        return this.#root.querySelector(selector);
    }

    #addRow(field) {
        const element = this.#template.content.firstElementChild.cloneNode(true);
        element.querySelector(".field").textContent = field;
        const pin = element.querySelector("button");
        pin.setAttribute("aria-label", `${field} as a column`);
        pin.addEventListener("click", () => this.#told.toggled(field));
        const row = { element, pin, cell: new Cell(element.querySelector(".value")) };
        this.#rows.set(field, row);
        this.#body.append(element);
        this.#showPin(field, row);
        this.#applyFilter();
        return row;
    }

    #removeRow(field) {
        this.#rows.get(field).element.remove();
        this.#rows.delete(field);
    }

    #showPin(field, { pin }) {
        pin.setAttribute("aria-pressed", String(this.#columns.includes(field)));
    }

    #applyFilter() {
        const wanted = this.#filter.value.trim().toUpperCase();
        for (const [field, { element }] of this.#rows) {
            element.hidden = !field.toUpperCase().includes(wanted);
        }
    }
}
