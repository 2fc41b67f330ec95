// A value that shows when it changes, and which way.

const FLASH_MS = 700;

const isStill = matchMedia("(prefers-reduced-motion: reduce)");

/** A value of a message as it is read by people. */
export function asText(value) {
    if (value === null || value === undefined) return "";
    return typeof value === "object" ? JSON.stringify(value) : String(value);
}

function move(before, after) {
    const step = before === "" || after === "" ? NaN : Number(after) - Number(before);
    if (step > 0) return "up";
    return step < 0 ? "down" : "other";
}

export class Cell {
    #element = document.createElement("span");
    #shown = null;
    #flash = null;

    /** A value inside of `place`. */
    constructor(place) {
        place.replaceChildren(this.#element);
    }

    /** Shows a value, or that there is none; it flashes unless it is the first. */
    write(value) {
        const text = asText(value);
        const before = this.#shown;
        if (text === (before ?? "")) return;
        this.#shown = text;
        this.#element.textContent = text;
        this.#element.classList.toggle("number", text !== "" && Number.isFinite(Number(text)));
        if (before === null) return;
        const way = move(before, text);
        this.#element.dataset.move = way;
        // One flash at a time: a hundred changes a second are one long one.
        this.#flash?.cancel();
        if (isStill.matches) return;
        this.#flash = this.#element.animate(
            [{ backgroundColor: `var(--flash-${way})` }, { backgroundColor: "transparent" }],
            { duration: FLASH_MS, easing: "ease-out" },
        );
    }
}
