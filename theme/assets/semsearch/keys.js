/* Moves the active row by keys and by the pointer, opens it, and keeps typing in the field. */

import { optionsOf } from "./results.js";
import { isQuestion, sameQuestion } from "./state.js";

const HOVER = 80; // milliseconds; the pointer crosses rows on its way to the preview
const TEXT = "input:not([type=checkbox])";

/** Returns whether a key belongs to an input method. */
export const composes = (event) => event.isComposing || event.keyCode === 229;

export class Keys {
  #hovered = 0;
  eager = null; // {newTab} if Enter was pressed before the answer came

  constructor(parts) {
    this.parts = parts;
    const { list, main } = parts;
    parts.dialog.addEventListener("keydown", (event) => this.#onKey(event));
    // A list that appears below a resting pointer changes nothing.
    list.addEventListener("pointermove", (event) => {
      if (event.pointerType === "touch" || !(event.movementX || event.movementY)) return;
      clearTimeout(this.#hovered);
      const option = event.target.closest("[role=option]");
      this.#hovered = setTimeout(() => {
        const at = optionsOf(list).indexOf(option); // -1 if another answer has come
        if (at >= 0) parts.store.set({ active: at, walked: true });
      }, HOVER);
    });
    list.addEventListener("pointerleave", () => clearTimeout(this.#hovered));
    // The mouse leaves the focus in the field, so that typing goes on.
    const takes = ({ target }) => target.closest("label, button, summary") && !target.matches(TEXT);
    main.addEventListener("mousedown", (event) => takes(event) && event.preventDefault());
    main.addEventListener("click", (event) => {
      const mouse = event.detail && event.pointerType !== "touch";
      if (mouse && event.target.closest("label") && takes(event)) setTimeout(() => parts.input.focus());
    });
  }

  #onKey(event) {
    event.stopPropagation(); // themes have their own keys
    if (composes(event) || event.defaultPrevented) return;
    const { parts } = this;
    const { key, target } = event;
    if (key === "Tab") parts.keepFocus(event);
    else if (key === "Escape") {
      event.preventDefault();
      parts.escape();
    } else if (key === "Enter" && target === parts.input) {
      event.preventDefault();
      this.choose(parts.mac ? event.metaKey : event.ctrlKey);
    } else if (event.altKey || event.ctrlKey || event.metaKey) return;
    else if (target !== parts.input && !target.matches(TEXT) && key !== " " && /^(.|Backspace)$/u.test(key))
      parts.input.focus(); // the browser writes the letter there
    else if (!event.shiftKey) this.#walk(event);
  }

  /** Opens the active row; waits for the answer to the question if it has not arrived yet. */
  choose(newTab) {
    const { store, search, list, recents } = this.parts;
    const { active, answer, query } = store.state;
    this.eager = isQuestion(store.state) && !sameQuestion(answer, store.state) ? { newTab } : null;
    if (this.eager) return search.ask(0);
    const options = optionsOf(list);
    const option = options[active] ?? options[0];
    if (!newTab || !option?.href) return option?.click();
    recents?.add(query);
    store.set({ opened: option.hit });
    return open(option.href, "_blank", "noopener");
  }

  #walk(event) {
    const { parts } = this;
    const { key, target } = event;
    if (parts.sheet?.isOpen || (target.matches(TEXT) && target !== parts.input)) return; // the sheet covers the list
    const options = optionsOf(parts.list);
    const starts = [parts.input, ...parts.dialog.querySelectorAll(".ss-start:not([hidden]) :is(.ss-query, input)")];
    if (starts.length > 1) {
      // The start view has no list: the focus moves.
      const stop = starts[starts.indexOf(target) + { ArrowDown: 1, ArrowUp: -1 }[key]];
      if (!stop || !starts.includes(target)) return;
      stop.focus();
    } else {
      const next = this.#next(key, options);
      if (next === undefined) return;
      parts.input.focus();
      parts.store.set({ active: next, walked: true });
      options[next].scrollIntoView({ block: "nearest" });
    }
    event.preventDefault();
  }

  /** Returns the row to which a key leads; undefined if the key belongs to the text. */
  #next(key, options) {
    const { active, walked } = this.parts.store.state;
    const last = options.length - 1;
    if (last < 0) return undefined;
    if (key === "ArrowDown") return active < last ? active + 1 : 0;
    if (key === "ArrowUp") return active > 0 ? active - 1 : last;
    if (key === "PageDown" || key === "PageUp") return this.#screen(options, Math.max(active, 0), key === "PageDown");
    if (walked && key === "Home") return 0;
    if (walked && key === "End") return last;
    return undefined;
  }

  /** Returns the farthest row that is less than a screen away. */
  #screen(options, from, down) {
    const { scroller, main, bar } = this.parts;
    const height = Math.min(scroller.clientHeight, main.clientHeight, innerHeight - bar.offsetHeight);
    const top = (option) => option.getBoundingClientRect().top;
    const near = options
      .map((option, index) => [index, Math.abs(top(option) - top(options[from]))])
      .filter(([index, distance]) => distance < height && (down ? index > from : index < from));
    return (down ? near.at(-1) : near[0])?.[0] ?? from;
  }
}
