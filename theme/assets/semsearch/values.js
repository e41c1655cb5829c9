/* One value of a facet, as text and as a check box; and the values before a question. Loaded if a site has facets. */

import { attempt, toggled, valuesOf } from "./state.js";
import { h, replace } from "./ui.js";

const ENGLISH = {
  yes: "Yes",
  no: "No",
};

export const RANGES = ["integer", "number", "date"];

/** Returns the name of a language in that language. */
export const nameOfLanguage = (tag) =>
  attempt(() => new Intl.DisplayNames([tag], { type: "language" }).of(tag)) ?? tag;

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

/** Shows a facet's most frequent values before a question: a click lists their pages. */
export function fill(place, parts) {
  const { store } = parts;

  function chipSection(field, chosen) {
    const chips = field.values.slice(0, 8).map(({ value, count }) => {
      const { row, update } = facetBox(parts, field, value);
      update(count, chosen.includes(`${value}`));
      row.classList.add("ss-chip");
      return row;
    });
    const names = { role: "group", "aria-label": field.label };
    return h("section", names, h("div.ss-caption", {}, field.label), h("div.ss-chips", {}, chips));
  }

  store.on(["fields", "filters", "answer"], ({ answer, fields, filters }) => {
    if (answer) return;
    const listed = fields.filter(({ type, values }) => !RANGES.includes(type) && values?.length);
    replace(place, listed.map((field) => chipSection(field, valuesOf(filters[field.name]))));
  });
}
