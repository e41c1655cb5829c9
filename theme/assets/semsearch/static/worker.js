/* Runs the engine in a worker: takes {root, cache}, then {id, call, argument}; answers {id, value} or {id, error}. */

import { createAnswering } from "./answering.js";

let answer = null;

addEventListener("message", async ({ data: { root, cache, id, ...call } }) => {
  if (root) answer = createAnswering(new URL(root), cache);
  else postMessage({ id, ...(await answer(call)) });
});
