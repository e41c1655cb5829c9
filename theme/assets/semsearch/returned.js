/*
 * After Back from a result, makes its row the active one, and fetches more rows until it is there. Loaded when a reader
 * comes back.
 */

import { optionsOf } from "./results.js";
import { questionKey } from "./state.js";

export function fill(list, box) {
  const { store, search } = box;
  store.on(["answer"], ({ answer, active, walked }) => {
    const { returned } = box;
    if (!answer || walked || !returned?.href || questionKey(answer) !== questionKey(returned)) return;
    const options = optionsOf(list);
    const at = options.findIndex(({ href }) => href === returned.href);
    const { length } = answer.results;
    if (at < 0 && returned.length > length && returned.grown !== length) {
      returned.grown = length; // an answer without further rows is the last one
      search.extend("addPages", length >= answer.total);
    }
    if (at < 0 || at === active) return;
    store.set({ active: at });
    options[at].scrollIntoView({ block: "nearest" });
  });
}
