/* From and to, for numbers and dates. Loaded where a site has such facets. */

import { activeFilters } from "./state.js";
import { h, set } from "./ui.js";

const ENGLISH = {
  from: "From",
  to: "To",
};

export function fill(group, { t, store, setFilters }, field) {
  t.add(ENGLISH);
  const type = field.type === "date" ? "date" : "number";
  const inputs = ["min", "max"].map((end) => {
    const step = field.type === "number" && "any";
    const input = h("input.ss-range", { type, step, "data-semsearch": "range", "data-field": field.name });
    input.addEventListener("change", () => {
      const { filters } = store.state;
      if (type === "date" && input.value && input.value < "1000") return; // the year is still being typed
      setFilters({ ...filters, [field.name]: { ...filters[field.name], [end]: input.value } });
    });
    return input;
  });
  const ends = inputs.map((input, index) => h("label.ss-end", {}, h("span", {}, t(index ? "to" : "from")), input));
  group.append(h("div.ss-ends", { role: "group", "aria-label": field.label }, ends));

  return (counts, filter = {}) => {
    const values = counts.map(({ value }) => value).sort((a, b) => (a < b ? -1 : 1));
    [values[0], values.at(-1)].forEach((bound, index) => {
      const input = inputs[index];
      set(input, "placeholder", `${bound ?? ""}`);
      if (input !== document.activeElement) input.value = filter?.[index ? "max" : "min"] ?? "";
    });
    set(group, "hidden", !values.length && !activeFilters({ filter }).length);
  };
}
