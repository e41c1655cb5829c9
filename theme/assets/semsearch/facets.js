/* The facets beside the results. Loaded if a site has facets. */

import { composes } from "./keys.js";
import { load } from "./load.js";
import { countFilters, valuesOf } from "./state.js";
import { button, h, icon, set } from "./ui.js";

const ENGLISH = {
  find_in: "Find in {field}",
  show_all: "Show all ({count})",
};
const FEW = 10; // values that are shown of a long list
const OPEN = 3; // groups that are open from the start

/** Keeps groups and rows between answers, so that focus and scrolling survive. */
export async function fill(panel, parts) {
  const { store, t } = parts;
  t.add(ENGLISH);
  // Loaded before any group is shown: a group that grows later would push the others down.
  const { facetBox, RANGES } = await load(import.meta.resolve("./values.js"));
  const ranged = store.state.fields.some(({ type }) => RANGES.includes(type));
  const ranges = ranged && (await load(import.meta.resolve("./ranges.js")));
  const groups = { __proto__: null };
  let opened = 0;
  store.on(["answer", "filters"], ({ answer, filters, fields }) => {
    if (!answer?.facets) return;
    for (const field of fields) {
      const isRange = RANGES.includes(field.type);
      const shown = (groups[field.name] ??= isRange ? rangeGroup(parts, field, ranges) : new ValueGroup(parts, field, facetBox));
      const { group, badge } = shown;
      if (!group.parentNode) {
        group.open = opened++ < OPEN;
        group.addEventListener("toggle", () => {
          if (group.matches(":hover, :focus-within")) group.scrollIntoView({ block: "nearest" });
        });
        panel.append(group);
      } else if (!group.matches(":hover, :focus-within")) renew(group);
      const filter = filters[field.name];
      const chosen = countFilters({ filter });
      const empty = !shown.update(countsOf(answer, field), filter);
      // A group that disappears would take the focus with it.
      group.hidden = empty && !group.contains(document.activeElement);
      badge.textContent = chosen || "";
      if (chosen) group.open = true;
    }
  });
}

/**
 * Returns the counts of a field. An answer counts them as if the field had no filter. What matches depends on the best
 * result, so with the filter there can be more matches: where it has one value, their number is the total of the answer.
 */
function countsOf({ facets, filters, total }, { name }) {
  const counts = facets[name] ?? [];
  const { length, 0: only } = filters[name] ?? [];
  if (length !== 1) return counts;
  const known = counts.some(({ value }) => `${value}` === only);
  const all = known ? counts : [...counts, { value: only }];
  return all.map((item) => (`${item.value}` === only ? { ...item, count: total } : item));
}

/** Inserts a group again, so that the browser counts no layout shift when the groups above it have changed. */
function renew(group) {
  const { parentNode: panel, nextSibling: next } = group;
  group.remove();
  panel.insertBefore(group, next);
}

function groupOf(field, ...content) {
  const badge = h("span.ss-badge");
  return {
    badge,
    group: h("details.ss-group", {}, h("summary", {}, h("span", {}, field.label), badge, icon("more")), ...content),
  };
}

/** The check boxes of a facet; of a long list the first ones, with a field that finds others. */
class ValueGroup {
  #boxes = new Map(); // by value
  #whole = false; // the reader wants all values

  constructor(parts, field, facetBox) {
    const label = parts.t("find_in", { field: field.label });
    const find = h("input.ss-find", { type: "text", placeholder: label, "aria-label": label });
    const list = h("div.ss-values", { role: "group", "aria-label": field.label, tabindex: -1 }); // as in draw.js
    const all = button("ss-quiet", { tabindex: -1 }, () => this.#showAll());
    Object.assign(this, { parts, field, facetBox, find, list, all, ...groupOf(field, find, list, all) });
    find.addEventListener("input", () => this.#narrow());
    this.group.addEventListener("keydown", (event) => {
      if (composes(event)) return;
      if (event.key === "Enter" && event.target === find) list.querySelector("label:not([hidden])")?.click();
      this.#walk(event);
    });
  }

  /** Shows the values of an answer; returns their number. */
  update(counts, filter) {
    const chosen = valuesOf(filter);
    const { list } = this;
    const boxes = this.#boxes;
    const shown = new Map(counts.filter(({ count }) => count).map(({ value, count }) => [`${value}`, count]));
    // Rows do not move below the pointer or the focus.
    const still = list.matches(":hover, :focus-within");
    for (const value of [...(still ? boxes.keys() : []), ...chosen]) if (value && !shown.has(value)) shown.set(value, 0);
    for (const [value, { row }] of boxes) if (!shown.has(value)) (row.remove(), boxes.delete(value));
    const ordered = [...shown].sort(([a], [b]) => chosen.includes(b) - chosen.includes(a));
    ordered.forEach(([value, count], index) => {
      if (!boxes.has(value)) boxes.set(value, this.facetBox(this.parts, this.field, value));
      const { row, update: refresh } = boxes.get(value);
      refresh(count, chosen.includes(value));
      const place = list.children[index] ?? null;
      if (still ? !row.isConnected : row !== place) list.insertBefore(row, place);
    });
    this.#narrow();
    return shown.size;
  }

  #showAll() {
    this.#whole = true;
    this.#narrow();
    this.list.children[FEW]?.firstChild.focus();
  }

  /** Hides the values that the reader does not look for, and the end of a long list. */
  #narrow() {
    const { find, list, all } = this;
    const has = (field) => field === document.activeElement; // the focused element stays
    const wanted = find.value.trim().toLowerCase();
    const rows = [...list.children].map((row) => [row, this.#boxes.get(row.firstChild.value)]);
    const long = !this.#whole && !wanted;
    rows.forEach(([row, { box, text }], index) => {
      row.hidden = !has(box) && (!text.includes(wanted) || (long && index >= FEW && !box.checked));
    });
    find.hidden = !has(find) && rows.length <= FEW && !wanted;
    all.hidden = !long || rows.length <= FEW;
    all.textContent = this.parts.t("show_all", { count: rows.length });
    this.#rove();
  }

  /** Makes the group one Tab stop: the focused value, or the first. */
  #rove(to = this.list.querySelector(":focus") ?? this.list.querySelector("label:not([hidden]) input")) {
    for (const { box } of this.#boxes.values()) set(box, "tabindex", box !== to && "-1");
  }

  #walk(event) {
    const stops = [...this.group.querySelectorAll("input, .ss-quiet")].filter((stop) => stop.checkVisibility());
    const at = stops.indexOf(event.target);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: stops.length - 1 }[event.key];
    if (at < 0 || to === undefined || (event.target === this.find && event.key !== "ArrowDown")) return;
    event.preventDefault();
    if (this.#boxes.has(stops[to]?.value)) this.#rove(stops[to]);
    stops[to]?.focus();
  }
}

function rangeGroup(parts, field, ranges) {
  const { group, badge } = groupOf(field);
  const refresh = ranges.fill(group, parts, field);
  const update = (counts, filter) => {
    refresh(counts, filter);
    return counts.length || countFilters({ filter });
  };
  return { group, badge, update };
}
