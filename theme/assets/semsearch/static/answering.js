/* Answers calls from an open bundle, and opens it again if the site has been published again. */

import { Searcher } from "./searcher.js";

/** Returns `answer({call, argument})`, which gives {value} or {error}. */
export function createAnswering(root, cache) {
  let opening = null;

  async function ask(call, argument, from = cache) {
    const current = (opening ??= Searcher.open(root, from));
    try {
      return await (await current)[call](argument);
    } catch (error) {
      if (error.status === 422) throw error;
      if (opening === current) opening = null;
      // After the site was published again, the files are gone: open the new bundle. Some hosts send a page instead.
      // Or the browser remembers that a file was missing, from before all of them had been uploaded.
      if ((error.status ?? 404) === 404 && from !== "reload") return ask(call, argument, "reload");
      throw error;
    }
  }

  return ({ call, argument }) =>
    ask(call, argument).then(
      (value) => ({ value }),
      ({ message, status }) => ({ error: { message, status } }),
    );
}
