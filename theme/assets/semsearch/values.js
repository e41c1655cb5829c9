/* One value of a facet, as text and as a check box. Loaded if a site has facets or several languages. */

import { toggled } from "./state.js";
import { h } from "./ui.js";

const ENGLISH = {
  yes: "Yes",
  no: "No",
};

export const RANGES = ["integer", "number", "date"];

/** Returns the name of a language in that language. */
export function nameOfLanguage(tag) {
  try {
    return new Intl.DisplayNames([tag], { type: "language" }).of(tag);
  } catch {
    return tag;
  }
}

export function valueText(t, { name, type } = {}, value) {
  t.add(ENGLISH);
  if (name === "page.language") return nameOfLanguage(`${value}`);
  return type === "boolean" ? t(`${value}` === "true" ? "yes" : "no") : `${value}`;
}

/** Creates a check box for a value, with the number of its pages. */
export function facetBox({ t, setFilters, store }, field, value) {
  const box = h("input", { type: "checkbox", value: `${value}`, "data-semsearch": "facet", "data-field": field.name });
  const count = h("span.ss-count");
  const text = valueText(t, field, value);
  const row = h("label.ss-facet", {}, box, h("span.ss-value", {}, h("bdi", {}, text)), count);
  box.addEventListener("change", () => setFilters(toggled(store.state.filters, field.name, box.value, box.checked)));
  const update = (number, checked) => {
    box.checked = checked;
    count.textContent = t.number(number ?? 0);
  };
  return { row, box, text: text.toLowerCase(), update };
}
