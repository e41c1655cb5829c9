/* The facets beside the results. Loaded if a site has facets. */

import { countFilters } from "./state.js";
import { button, h, icon, set } from "./ui.js";
import { facetBox, RANGES } from "./values.js";

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
  const ranged = store.state.fields.some(({ type }) => RANGES.includes(type));
  const ranges = ranged && (await import("./ranges.js").catch(() => null));
  const groups = {};
  let opened = 0;
  store.on(["answer", "filters"], ({ answer, filters, fields }) => {
    if (!answer?.facets) return;
    for (const field of fields) {
      if (RANGES.includes(field.type) && !ranges) continue;
      groups[field.name] ??= RANGES.includes(field.type) ? rangeGroup(parts, field, ranges) : valueGroup(parts, field);
      const { group, badge, update } = groups[field.name];
      if (!group.parentNode) {
        group.open = opened++ < OPEN;
        group.addEventListener("toggle", () => {
          if (group.matches(":hover, :focus-within")) group.scrollIntoView({ block: "nearest" });
        });
        panel.append(group);
      } else if (!group.matches(":hover, :focus-within")) renew(group);
      const filter = filters[field.name];
      const chosen = countFilters({ filter });
      const empty = !update(answer.facets[field.name] ?? [], filter);
      // A group that disappears would take the focus with it.
      set(group, "hidden", empty && !group.contains(document.activeElement));
      badge.textContent = chosen || "";
      if (chosen) group.open = true;
    }
  });
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

function valueGroup(parts, field) {
  const { t } = parts;
  const label = t("find_in", { field: field.label });
  const find = h("input.ss-find", { type: "text", placeholder: label, "aria-label": label });
  const list = h("div.ss-values", { role: "group", "aria-label": field.label });
  const all = button("ss-quiet", { tabindex: -1 }, () => {
    whole = true;
    narrow();
    boxes.get([...boxes.keys()][FEW])?.box.focus();
  });
  const { group, badge } = groupOf(field, find, list, all);
  const boxes = new Map();
  let whole = false;

  function narrow() {
    const has = (field) => field === document.activeElement; // the focused element stays
    const wanted = find.value.trim().toLowerCase();
    const rows = [...list.children].map((row) => [row, boxes.get(row.firstChild.value)]);
    const long = !whole && !wanted;
    rows.forEach(([row, { box, text }], index) =>
      set(row, "hidden", !has(box) && (!text.includes(wanted) || (long && index >= FEW && !box.checked))),
    );
    set(find, "hidden", !has(find) && rows.length <= FEW && !wanted);
    set(all, "hidden", !long || rows.length <= FEW);
    all.textContent = t("show_all", { count: rows.length });
    rove();
  }

  /** Makes the group one Tab stop: the focused value, or the first. */
  function rove(to = list.querySelector(":focus") ?? list.querySelector("label:not([hidden]) input")) {
    for (const { box } of boxes.values()) set(box, "tabindex", box !== to && "-1");
  }

  find.addEventListener("input", narrow);
  find.addEventListener("keydown", ({ key }) => key === "Enter" && list.querySelector("label:not([hidden])")?.click());
  group.addEventListener("keydown", (event) => {
    const stops = [...group.querySelectorAll("input, .ss-quiet")].filter((stop) => stop.checkVisibility());
    const at = stops.indexOf(event.target);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: stops.length - 1 }[event.key];
    if (at < 0 || to === undefined || (event.target === find && event.key !== "ArrowDown")) return;
    event.preventDefault();
    if (boxes.has(stops[to]?.value)) rove(stops[to]);
    stops[to]?.focus();
  });

  function update(counts, chosen = []) {
    const shown = new Map(counts.filter(({ count }) => count).map(({ value, count }) => [`${value}`, count]));
    // Rows do not move below the pointer or the focus.
    const still = list.matches(":hover, :focus-within");
    for (const value of [...(still ? boxes.keys() : []), ...chosen]) if (value && !shown.has(value)) shown.set(value, 0);
    for (const [value, { row }] of boxes) if (!shown.has(value)) (row.remove(), boxes.delete(value));
    const ordered = [...shown].sort(([a], [b]) => chosen.includes(b) - chosen.includes(a));
    ordered.forEach(([value, count], index) => {
      if (!boxes.has(value)) boxes.set(value, facetBox(parts, field, value));
      const { row, update: refresh } = boxes.get(value);
      refresh(count, chosen.includes(value));
      const place = list.children[index] ?? null;
      if (still ? !row.isConnected : row !== place) list.insertBefore(row, place);
    });
    narrow();
    return shown.size;
  }
  return { group, badge, update };
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
