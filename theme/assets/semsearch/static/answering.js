/* Answers calls from an open bundle, and opens it again if the site has been published again. */

import { Searcher } from "./searcher.js";

/** Returns `answer({call, argument})`, which gives {value} or {error}. */
export function createAnswering(root, cache) {
  let opening = null;

  async function ask(call, argument, again = true) {
    const current = (opening ??= Searcher.open(root, again ? cache : undefined));
    try {
      return await (await current)[call](argument);
    } catch (error) {
      if (error.status === 422) throw error;
      if (opening === current) opening = null;
      // After the site was published again, the files are gone: open the new bundle. Some hosts send a page instead.
      if ((error.status ?? 404) === 404 && again) return ask(call, argument, false);
      throw error;
    }
  }

  return ({ call, argument }) =>
    ask(call, argument).then(
      (value) => ({ value }),
      ({ message, status }) => ({ error: { message, status } }),
    );
}
