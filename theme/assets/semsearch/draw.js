/* Draws the search box: creates its elements and keeps them as properties of the custom element. */

import { createResults } from "./results.js";
import { button, h, icon, set } from "./ui.js";

const SCROLLS = { tabindex: -1 }; // otherwise Firefox makes the element a Tab stop

export function draw(box) {
  const { t } = box;
  box.list = createResults(box);
  drawField(box);
  drawMessages(box);
  drawFilters(box);
  drawMain(box);
  box.foot = h("div.ss-foot", { "aria-hidden": "true" }); // filled by start.js
  const rows = [box.bar, box.chosen, box.modeLine, box.summary, box.main, box.foot, box.status, box.alert];
  box.dialog = box.frame(...rows);
  set(box, "lang", t.language);
  set(box, "dir", t.dir);
}

function drawField(box) {
  const { t } = box;
  box.input = h("input.ss-input", {
    type: "text",
    role: "combobox",
    "data-semsearch": "input",
    "aria-label": t("search"),
    "aria-expanded": "false",
    "aria-controls": box.list.id,
    "aria-autocomplete": "list",
    placeholder: t("placeholder"),
    autocomplete: "off",
    autocapitalize: "off",
    autocorrect: "off",
    spellcheck: "false",
    enterkeyhint: "search",
    maxlength: 1000,
    dir: "auto",
  });
  box.clearing = button("ss-quiet", { "aria-label": t("clear") }, () => box.ask(""), t("clear_recent"));
  const names = { "data-semsearch": "close", "aria-label": t("close") };
  const close = button("ss-round.ss-close", names, () => box.close(), icon("close"));
  box.bar = h("div.ss-bar", { role: "search" }, icon("search"), box.input, box.clearing, close);
}

function drawMessages(box) {
  box.modeLine = h("p.ss-mode", { "data-semsearch": "mode" });
  box.status = h("p.ss-sr", { role: "status", "data-semsearch": "status" });
  box.alert = h("p.ss-sr", { role: "alert", "data-semsearch": "alert" });
  box.notice = h("div.ss-notice", { "data-semsearch": "notice", hidden: true });
  box.empty = h("div.ss-empty", { "data-semsearch": "empty" });
}

function drawFilters(box) {
  const group = { role: "group", "aria-label": box.t("filters") };
  box.badge = h("span.ss-badge");
  box.facets = h("div.ss-facets", { ...group, ...SCROLLS, id: `${box.prefix}-facets` });
  const sheet = { "aria-expanded": "false", "aria-controls": box.facets.id };
  box.toggle = button("ss-toggle", sheet, () => box.openSheet(), icon("filter"), box.t("filters"), box.badge);
  box.chosen = h("div.ss-active", { ...group, hidden: true });
}

function drawMain(box) {
  const { search, t, config } = box;
  box.total = h("span.ss-total", { "aria-hidden": "true" });
  box.offer = h("span.ss-offer"); // filled by suggest.js
  box.summary = h("div.ss-summary", {}, box.total, box.offer, box.toggle);
  box.next = button("ss-button", {}, () => search.extend("addPages", false, box.list), t("more_results"));
  box.link = h("a.ss-button", {}, t("as_page"));
  box.ends = h("div.ss-offers", {}, box.next, config.results_page && box.link);
  box.start = h("div.ss-start", SCROLLS); // filled by start.js
  box.chips = h("div.ss-chip-groups"); // filled by start.js
  box.scroller = h("div.ss-scroll", SCROLLS, box.start, box.notice, box.empty, box.list, box.ends);
  box.preview = h("section.ss-preview", { ...SCROLLS, "aria-label": t("preview"), "data-semsearch": "preview" });
  box.main = h("div.ss-main", SCROLLS, box.facets, box.scroller, box.preview);
}
