/* Offers the filter that the question names, from the facet values that are loaded. Loaded with the first results. */

import { plain } from "./excerpt.js";
import { load } from "./load.js";
import { toggled } from "./state.js";
import { button, h, isolated, replace } from "./ui.js";

const ENGLISH = {
  suggest_filter: "Filter: {filter}",
};
const SHORTEST = 3; // letters
const BEGINNING = /^how to\b/; // questions begin with it, and many sites have a section of this name

export async function fill(place, { store, t, setFilters, input, status }) {
  const { valueText } = await load(import.meta.resolve("./values.js"));
  t.add(ENGLISH);
  // The field has the direction of its text.
  const towardsEnd = () => (getComputedStyle(input).direction === "rtl" ? ["ArrowLeft", "←"] : ["ArrowRight", "→"]);
  let take = null;
  let text = "";

  store.on(["answer", "filters", "fields"], ({ answer, filters, fields }) => {
    const found = answer?.facets ? named(answer, fields, filters) : null;
    take = found && (() => setFilters(toggled(store.state.filters, found.field.name, found.value, true)));
    if (!found) return replace(place);
    const { label } = found.field;
    const filter = `${label}: ${isolated(valueText(t, found.field, found.value), label)}`;
    text = t("suggest_filter", { filter });
    const [key, arrow] = towardsEnd();
    const hint = h("kbd", { "aria-hidden": "true" }, arrow);
    return replace(place, button("ss-chip", { "aria-keyshortcuts": key }, () => take?.(), text, hint));
  });

  // At the end of the text the arrow key has no other function.
  input.addEventListener("keydown", (event) => {
    const plain = !event.shiftKey && !event.altKey && !event.ctrlKey && !event.metaKey && !event.isComposing;
    const atEnd = input.selectionStart === input.value.length;
    if (event.key !== towardsEnd()[0] || !plain || !atEnd || !take) return;
    event.preventDefault();
    const taken = text;
    take();
    status.textContent = taken;
  });
}

/** Returns the longest value of a facet that occurs in the question and narrows its results. */
function named({ query, facets, total }, fields, filters) {
  const words = ` ${plain(query)} `;
  const isIn = (name) => name.length >= SHORTEST && !BEGINNING.test(name) && words.includes(` ${name} `);
  const found = fields.flatMap((field) =>
    (field.values ?? [])
      .map(({ value }) => ({ field, value: `${value}`, name: plain(`${value}`) }))
      .filter(({ value, name }) => isIn(name) && narrows(field.name, value)),
  );
  return found.sort((a, b) => b.name.length - a.name.length)[0];

  function narrows(field, wanted) {
    const { count = 0 } = facets[field]?.find(({ value }) => `${value}` === wanted) ?? {};
    return count > 0 && count < total && !filters[field]?.includes?.(wanted);
  }
}
