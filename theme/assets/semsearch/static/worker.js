/* The engine off the page's thread: {root} first, then {id, call, argument} in and {id, value} or {id, error} out. */

import { createAnswering } from "./answering.js";

let answer = null;

addEventListener("message", async ({ data: { root, id, ...call } }) => {
  if (root) answer = createAnswering(new URL(root));
  else postMessage({ id, ...(await answer(call)) });
});
