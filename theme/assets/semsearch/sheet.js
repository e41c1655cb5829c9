/* The facets of a small screen: a sheet over the results. Loaded when a reader first opens it. */

import { button, h, icon, loadStyle, set } from "./ui.js";

const ENGLISH = {
  close_filters: "Close the filters",
  show_one: "Show {count} result",
  show_other: "Show {count} results",
};

export async function fill(panel, parts) {
  const { t, store, toggle, main, dialog } = parts;
  t.add(ENGLISH);
  await loadStyle(dialog, new URL("sheet.css", import.meta.url));
  const done = button("ss-button.ss-done", {}, close);
  const head = h(
    "div.ss-sheet-head",
    {},
    h("span", {}, t("filters")),
    button("ss-round", { "aria-label": t("close_filters") }, close, icon("close")),
  );
  panel.prepend(head);
  panel.append(h("div.ss-sheet-foot", {}, done));
  store.on(["answer"], ({ answer }) => (done.textContent = t("show", { count: answer?.total ?? 0 })));

  /** Keeps focus and screen readers out of the part that the sheet covers. */
  function cover(on) {
    main.classList.toggle("ss-filtering", on);
    set(toggle, "aria-expanded", `${on}`);
    for (const part of dialog.children) if (part !== main && !part.matches(".ss-sr")) part.inert = on;
    for (const part of main.children) if (part !== panel) part.inert = on;
  }

  function close() {
    if (!parts.sheet.isOpen) return;
    cover(false);
    if (toggle.checkVisibility()) toggle.focus();
    else parts.refocus();
  }

  parts.sheet = {
    get isOpen() {
      return main.classList.contains("ss-filtering");
    },
    open() {
      cover(true);
      head.querySelector("button").focus();
    },
    close,
  };
}
