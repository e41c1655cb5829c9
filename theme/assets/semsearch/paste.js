/* Pastes a long message: the field has one line, so the lines that say most are picked while there are lines. */

import { tellingLines } from "./static/text.js";

/** Puts the telling lines of a text where the selection is, as if they had been typed. */
export function paste(input, text) {
  const line = tellingLines(text).replace(/\s*\n\s*/g, " ");
  input.setRangeText(line.slice(0, input.maxLength), input.selectionStart, input.selectionEnd, "end");
  input.dispatchEvent(new Event("input", { bubbles: true }));
}
