/* The engine off the page's thread: {root, cache} first, then {id, call, argument} in and {id, value} or {id, error} out. */

import { createAnswering } from "./answering.js";
// All at once, rather than one behind the other as they name each other.
import "./bundle.js";
import "./excerpts.js";
import "./fields.js";
import "./lexical.js";
import "./meaning.js";
import "./ranking.js";
import "./records.js";
import "./searcher.js";
import "./text.js";
import "./words.js";

let answer = null;

addEventListener("message", async ({ data: { root, cache, id, ...call } }) => {
  if (root) answer = createAnswering(new URL(root), cache);
  else postMessage({ id, ...(await answer(call)) });
});
