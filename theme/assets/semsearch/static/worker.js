/* The engine off the page's thread: {root, cache} first, then {id, call, argument} in and {id, value} or {id, error} out. */

import { createAnswering } from "./answering.js";

let answer = null;

addEventListener("message", async ({ data: { root, cache, id, ...call } }) => {
  if (root) answer = createAnswering(new URL(root), cache);
  else postMessage({ id, ...(await answer(call)) });
});
