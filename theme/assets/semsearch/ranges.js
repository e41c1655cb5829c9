/* The fields From and To for numbers and dates. Loaded if a site has such facets. */

import { activeFilters } from "./state.js";
import { h, set } from "./ui.js";

const ENGLISH = {
  from: "From",
  to: "To",
  range_inverted: "“From” is greater than “To”.",
};

/** Adds the two fields to a group, and returns `update(counts, filter)`. */
export function fill(group, { t, store, setFilters, prefix }, field) {
  t.add(ENGLISH);
  const type = field.type === "date" ? "date" : "number";
  const complaint = h("p.ss-note", { role: "alert", id: `${prefix}-range-${field.name}`, hidden: true });
  const inputs = ["min", "max"].map(() => {
    const step = field.type === "number" && "any";
    const input = h("input.ss-range", { type, step, "data-semsearch": "range", "data-field": field.name });
    input.addEventListener("change", () => {
      const { value } = input;
      if (type === "date" && value && (value < "1000" || value.length > 10)) return; // the year is still being typed
      if (!refuse()) {
        const { filters } = store.state;
        setFilters({ ...filters, [field.name]: { min: inputs[0].value, max: inputs[1].value } });
      }
    });
    return input;
  });
  const ends = inputs.map((input, index) => h("label.ss-end", {}, h("span", {}, t(index ? "to" : "from")), input));
  group.append(h("div.ss-ends", { role: "group", "aria-label": field.label }, ends), complaint);

  /** Shows a message beside the fields, and changes nothing, if the minimum is above the maximum. */
  function refuse() {
    const [from, to] = inputs.map(({ value }) => (type === "date" ? value : +value));
    const inverted = inputs.every(({ value }) => value) && from > to;
    complaint.hidden = !inverted;
    complaint.textContent = inverted ? t("range_inverted") : "";
    for (const input of inputs) {
      set(input, "aria-invalid", inverted && "true");
      set(input, "aria-describedby", inverted && complaint.id);
    }
    return inverted;
  }

  return (counts, filter) => {
    if (activeFilters({ filter }).length && refuse()) return; // the reader is about to correct it
    const values = counts.map(({ value }) => value).sort((a, b) => (a < b ? -1 : 1));
    [values[0], values.at(-1)].forEach((bound, index) => {
      const input = inputs[index];
      set(input, "placeholder", `${bound ?? ""}`);
      if (input !== document.activeElement) input.value = filter?.[index ? "max" : "min"] ?? "";
    });
    refuse();
  };
}
