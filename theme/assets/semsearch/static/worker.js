/* The engine off the page's thread: {id, call, argument} in, {id, value} or {id, error} out. */

import { Searcher } from "./searcher.js";

const root = new URL(new URLSearchParams(location.search).get("root"));
const opening = Searcher.open(root);

addEventListener("message", async ({ data: { id, call, argument } }) => {
  try {
    const searcher = await opening;
    postMessage({ id, value: await searcher[call](argument) });
  } catch ({ message, status }) {
    postMessage({ id, error: { message, status } });
  }
});
