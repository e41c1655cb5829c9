/* Pastes a long message: the field has one line, so the relevant lines are picked before line breaks are lost. */

import { load } from "./load.js";

/** Replaces the selection by the relevant lines of a text, as if they had been typed. */
export async function paste(input, text) {
  const { tellingLines } = await load(import.meta.resolve("./static/text.js"));
  if (!input.checkVisibility()) return; // the box has been closed meanwhile
  input.focus();
  const line = tellingLines(text).replace(/\s*\n\s*/g, " ");
  const kept = line.slice(0, input.maxLength);
  if (document.execCommand("insertText", false, kept)) return; // so that the browser can undo it
  input.setRangeText(kept, input.selectionStart, input.selectionEnd, "end");
  input.dispatchEvent(new Event("input", { bubbles: true }));
}
