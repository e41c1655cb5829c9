/* <semsearch-dialog>: the parts together; keys, focus, live regions, events. */

import { createFacets, createStart, Recents } from "./panels.js";
import { createResults, optionsOf } from "./results.js";
import { Search, Sidecar } from "./search.js";
import { Address, countFilters, questionKey, sharedSearch, Store } from "./state.js";
import { button, h, icon, loadStrings, set } from "./ui.js";

const PHONE = "(max-width: 768px)";
const SETTLE = 350;

export class SemsearchDialog extends HTMLElement {
  prefix = "semsearch";

  build({ config, root, mac, t, openIndex }) {
    const store = new Store({ fields: config.facets ?? [] });
    const names = store.state.fields.map(({ name }) => name);
    const parts = { store, config, root, t, names, report: this.report };
    const search = new Search({ ...parts, first: openIndex?.(parts) ?? new Sidecar(parts) });
    const recents = new Recents(root, config.recents !== false);
    Object.assign(this, { config, root, t, mac, store, search, recents, address: this.createAddress() });
    // Before the list changes: then it would be laid out for this.
    store.on(["answer"], (state, { answer }) => {
      if (state.answer?.query !== answer?.query) this.scroller.scrollTop = this.main.scrollTop = 0;
    });
    this.#draw();
    this.#listen();
    this.#follow();
  }

  /* What the results page does otherwise. */

  createAddress() {
    return new Address();
  }

  frame(...parts) {
    return h("dialog.ss-dialog", { "aria-label": this.t("search") }, parts);
  }

  hide() {
    this.dialog.close();
  }

  keepFocus(event) {
    const stops = [...this.dialog.querySelectorAll("input, button, summary, a:not([tabindex])")];
    const shown = stops.filter((item) => item.checkVisibility());
    const [from, to] = event.shiftKey ? [shown[0], shown.at(-1)] : [shown.at(-1), shown[0]];
    if (document.activeElement !== from) return;
    event.preventDefault();
    to.focus();
  }

  followAddress() {
    if (sharedSearch()) this.open();
    else this.hide();
  }

  get isOpen() {
    return this.dialog?.open;
  }

  /** Opens with `query`, the search in the address, or the last one. `trigger` gets the focus back. */
  open({ query, trigger } = {}) {
    const shared = sharedSearch();
    if (!this.isOpen) {
      const active = document.activeElement;
      this.returnTo = trigger ?? (active === document.body ? null : active);
      this.address.enter(matchMedia(PHONE).matches);
      this.#lock(true);
      this.dialog.showModal();
      this.report("open");
    }
    this.store.set({ open: true, active: -1, mode: this.search.first.mode, ...shared, ...(query && { query }) });
    this.input.value = this.store.state.query;
    this.input.focus();
    if (query) this.input.setSelectionRange(query.length, query.length);
    else this.input.select();
    this.search.loadFields();
    this.search.ask(0);
  }

  close() {
    if (!this.isOpen) return;
    this.hide();
    this.address.leave();
  }

  report = (name, detail) => this.dispatchEvent(new CustomEvent(`semsearch:${name}`, { bubbles: true, detail }));

  #draw() {
    const { search, t, config } = this;
    this.list = createResults(this);
    this.input = h("input.ss-input", {
      type: "text",
      role: "combobox",
      "data-semsearch": "input",
      "aria-label": t("search"),
      "aria-expanded": "false",
      "aria-controls": this.list.id,
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
    this.clearing = button("ss-quiet", { "aria-label": t("clear") }, () => this.ask(""), t("clear_recent"));
    this.badge = h("span.ss-badge");
    this.toggle = button(
      "ss-toggle",
      { "aria-expanded": "false", "aria-controls": `${this.prefix}-facets` },
      () => set(this.toggle, "aria-expanded", `${this.main.classList.toggle("ss-filtering")}`),
      icon("filter"),
      t("filters"),
      this.badge,
    );
    this.total = h("span", { "aria-hidden": "true" });
    this.mode = h("p.ss-mode", { "data-semsearch": "mode" });
    this.status = h("p.ss-sr", { role: "status", "data-semsearch": "status" });
    this.alert = h("p.ss-sr", { role: "alert", "data-semsearch": "alert" });
    this.next = button("ss-button", {}, () => search.more(), t("more_results"));
    this.link = h("a.ss-button", {}, t("as_page"));
    this.ends = h("div.ss-offers", {}, this.next, config.results_page && this.link);
    this.summary = h("div.ss-summary", {}, this.total, this.toggle);
    this.empty = h("div.ss-empty", { "data-semsearch": "empty" });
    this.scroller = h("div.ss-scroll", {}, createStart(this), this.empty, this.list, this.ends);
    this.preview = h("section.ss-preview", { "aria-label": t("preview"), "data-semsearch": "preview" });
    this.main = h("div.ss-main", {}, createFacets(this), this.scroller, this.preview);
    this.active = h("div.ss-active", { role: "group", "aria-label": t("filters"), hidden: true });
    const close = button(
      "ss-round.ss-close",
      { "data-semsearch": "close", "aria-label": t("close") },
      () => this.close(),
      icon("close"),
    );
    this.dialog = this.frame(
      h("div.ss-bar", { role: "search" }, icon("search"), this.input, this.clearing, close),
      this.active,
      this.mode,
      this.summary,
      this.main,
      this.#footer(),
      this.status,
      this.alert,
    );
    set(this.dialog, "lang", t.language);
    set(this.dialog, "dir", t.rtl && "rtl");
    this.classList.add("semsearch");
    this.append(this.dialog);
  }

  #footer() {
    const { t, mac } = this;
    const mod = mac ? "⌘" : "Ctrl ";
    const hint = (keys, action) => h("span", {}, h("kbd", {}, keys), action && ` ${t(`hint_${action}`)}`);
    return h(
      "div.ss-foot",
      { "aria-hidden": "true" },
      hint("↑ ↓", "move"),
      hint("↵", "open"),
      hint(`${mod}C`, "copy"),
      hint("Esc", "close"),
      hint(`${mod}K`),
    );
  }

  #listen() {
    const { dialog, input, list } = this;
    // A text in composition is not yet what is meant.
    const typed = ({ isComposing }) => {
      this.eager = false;
      this.store.set({ query: input.value, active: -1 });
      if (!isComposing) this.search.ask();
    };
    input.addEventListener("input", typed);
    input.addEventListener("compositionend", typed);
    dialog.addEventListener("keydown", (event) => this.#onKey(event));
    dialog.addEventListener("cancel", (event) => {
      event.preventDefault();
      this.close();
    });
    dialog.addEventListener("close", () => this.#closed());
    dialog.addEventListener("mousedown", (event) => event.target === dialog && this.close());
    list.addEventListener("mousedown", (event) => event.preventDefault()); // the field keeps the focus
    this.main.addEventListener("click", (event) => this.#onChoice(event));
    input.addEventListener("copy", (event) => this.#copyLink(event));
    // What the phone's keyboard leaves of the screen.
    visualViewport?.addEventListener("resize", () =>
      dialog.style.setProperty("--semsearch-vh", `${visualViewport.height}px`),
    );
    addEventListener("popstate", () => this.followAddress());
  }

  #onChoice(event) {
    const link = event.target.closest("a[href]");
    if (!link) return;
    this.recents.add(this.store.state.query);
    if (event.ctrlKey || event.metaKey || event.shiftKey || link.target) return;
    if (link.href.split("#")[0] === location.href.split("#")[0]) this.address.restore();
    else this.address.update(this.store.state);
    this.returnTo = null;
    this.hide();
  }

  /** Copying without a selection copies the link of the current result. */
  #copyLink(event) {
    const { href } = optionsOf(this.list)[this.store.state.active] ?? {};
    if (!href || this.input.selectionStart < this.input.selectionEnd) return;
    event.clipboardData.setData("text/plain", href);
    event.preventDefault();
    this.status.textContent = this.t("copied");
  }

  #onKey(event) {
    event.stopPropagation(); // themes have keys of their own
    if (event.isComposing || event.keyCode === 229) return;
    const { key, target } = event;
    if (key === "Tab") this.keepFocus(event);
    else if (key === "Escape") {
      event.preventDefault();
      this.close();
    } else if (key === "Enter" && target === this.input) {
      event.preventDefault();
      this.#choose(this.mac ? event.metaKey : event.ctrlKey);
    } else if (!event.altKey && !event.ctrlKey && !event.metaKey && !event.shiftKey) this.#walk(event);
  }

  #choose(newTab) {
    const { active, answer, query } = this.store.state;
    // Enter may come before the answer.
    this.eager = query.trim() && answer?.query.trim() !== query.trim();
    if (this.eager) return this.search.ask(0);
    const options = optionsOf(this.list);
    const option = options[active] ?? options[0];
    if (!newTab || !option?.href) return option?.click();
    this.recents.add(query);
    return open(option.href, "_blank", "noopener");
  }

  #walk(event) {
    const { key, target } = event;
    const { active } = this.store.state;
    const options = optionsOf(this.list);
    const step = { ArrowDown: 1, ArrowUp: -1 }[key];
    const starts = [this.input, ...this.dialog.querySelectorAll(".ss-start:not([hidden]) :is(.ss-query, input)")];
    let next = -1;
    if (starts.length > 1 || target !== this.input) {
      // The start view has no list: the focus moves.
      const stop = starts[starts.indexOf(target) + step];
      if (!stop || !starts.includes(target)) return;
      stop.focus();
    } else if (!options.length) return;
    else {
      if (step) next = active < 0 && step < 0 ? options.length - 1 : active + step;
      else if (active < 0) return; // Home and End belong to the text
      else if (key === "Home") next = 0;
      else if (key === "End") next = options.length - 1;
      else return;
      this.store.set({ active: next === options.length ? 0 : next });
    }
    event.preventDefault();
  }

  /* For the parts. */

  ask = (query) => {
    this.input.value = query;
    this.store.set({ query, active: -1 });
    this.input.focus();
    this.search.ask(0);
  };

  setFilters = (filters) => {
    this.store.set({ filters, active: -1 });
    this.address.update(this.store.state);
    this.search.ask(0);
  };

  #closed() {
    this.search.rest();
    this.#lock(false);
    this.store.set({ open: false });
    this.returnTo?.focus({ preventScroll: true });
    this.report("close");
  }

  #lock(on) {
    const page = document.documentElement;
    page.classList.toggle("semsearch-gutter", on && innerWidth > page.clientWidth);
    page.classList.toggle("semsearch-open", on);
  }

  #follow() {
    const { store, t } = this;
    let settling = 0;
    store.on(["query", "answer", "nearest", "active"], ({ query, answer, active }) => {
      const options = optionsOf(this.list);
      set(this.input, "aria-expanded", `${options.length > 0}`);
      set(this.input, "aria-activedescendant", options[active]?.id);
      set(this.clearing, "hidden", !query);
      const count = answer?.results.length;
      set(this.next, "hidden", count >= answer?.total);
      set(this.ends, "hidden", !count);
      this.total.textContent = answer ? t("count", { count: answer.total }) : "";
      set(this.dialog, "data-results", !!answer);
      set(this.summary, "hidden", !answer);
    });
    store.on(["answer", "filters"], ({ answer, filters, fields }) => {
      const chosen = countFilters(filters);
      const any = answer?.facets && (chosen || fields.some(({ name }) => answer.facets[name]?.length));
      set(this.dialog, "data-facets", !!any);
      if (chosen) this.#later("./chips.js", this.active);
      if (answer) this.link.href = new URL(`search/?${questionKey({ ...answer, filters }, "query")}`, this.root);
      this.badge.textContent = chosen || "";
    });
    store.on(["answer", "nearest"], ({ answer }) => {
      const none = answer && !answer.results.length;
      set(this.empty, "hidden", !none);
      if (none) this.#later("./empty.js", this.empty);
      if (this.eager) this.#choose();
    });
    store.onPainted(["answer", "nearest"], (state) => {
      if (!this.isOpen) return;
      this.address.update(state);
      if (this.list.childElementCount && this.preview.checkVisibility()) this.#later("./preview.js", this.preview);
    });
    store.on(["mode"], ({ mode }) => {
      set(this.mode, "hidden", mode === "online");
      this.mode.dataset.mode = mode;
      this.mode.textContent = mode === "online" ? "" : t(`mode_${mode}`);
      this.alert.textContent = mode === "static" ? "" : this.mode.textContent;
    });
    store.on(["query", "answer", "busy"], (state) => {
      clearTimeout(settling);
      if (!state.busy) settling = setTimeout(() => this.#announce(state), SETTLE);
    });
  }

  /** Loads a part when it is needed. */
  #later(module, place) {
    place.filled ??= import(module)
      .then(({ fill }) => fill(place, this))
      .catch(() => (place.filled = null));
  }

  /** Once, when typing has settled. */
  #announce({ answer }) {
    const { t } = this;
    const { total: count = 0, query } = answer ?? {};
    this.status.textContent = !answer ? "" : count ? t("count", { count }) : t("none", { query: query.trim() });
  }
}

/** Called by the loader on first use. */
export async function start(host, { config, root, base, mac }, element = SemsearchDialog) {
  const link = h("link", { rel: "stylesheet", href: new URL("dialog.css", base) });
  const styled = new Promise((resolve, reject) => Object.assign(link, { onload: resolve, onerror: reject }));
  host.append(link); // not the head: Material's instant navigation tidies it
  const language = config.language ?? document.documentElement.lang;
  const engine = config.static && !config.api_url ? import("./static/engine.js") : {};
  const [t, { openIndex }] = await Promise.all([loadStrings(base, language, config.strings), engine, styled]);
  if (!customElements.get(host.localName)) customElements.define(host.localName, element);
  host.build({ config, root, mac, t, openIndex });
}
