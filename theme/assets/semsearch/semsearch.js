/*
 * Loader of the search widget, which every page loads. It takes over the theme's own search triggers, and loads the
 * dialog when a reader first reaches for it. It listens on the window once, so it survives instant navigation.
 */
(() => {
  "use strict";
  const script = document.currentScript ?? document.querySelector('script[src*="assets/semsearch/semsearch.js"]');
  // Neither modules nor fetch work on file://, so the theme's own search stays.
  // A heading with the id "semsearch" is window.semsearch too.
  if (!script || window.semsearch?.element || location.protocol === "file:") return;

  const base = new URL(".", script.src);
  const root = new URL("../../", base);
  const mac = /Mac|iPhone|iPad/.test(navigator.userAgentData?.platform ?? navigator.platform);
  const INPUTS = "#rtd-search-form input[name=q],.md-search__input";
  const BUTTONS =
    '[data-bs-target="#mkdocs_search_modal"],.md-search__button,label[for=__search],[data-semsearch=open]';
  const TRIGGERS = `${INPUTS},${BUTTONS}`;
  const PARTS = "dialog draw excerpt keys results search state ui".split(" ");
  const EDITABLE = "input,select,textarea,button,[role=textbox]";

  let config = null;
  let settling = null;
  let dialog = null;
  let loading = false;
  let failed = false;
  let typed = "";

  const host = document.querySelector("semsearch-dialog") ?? document.createElement("semsearch-dialog");
  if (!host.isConnected) (document.body ?? document.documentElement).append(host);

  const settle = () =>
    (settling ??= fetch(new URL("config.json", base))
      .then((response) => (response.ok ? response.json() : {}))
      .catch(() => ({}))
      .then((found) => (config = found)));

  const addLink = (attributes) => host.append(Object.assign(document.createElement("link"), attributes));

  const load = () => (dialog ??= loadParts());
  async function loadParts() {
    try {
      addLink({ rel: "preload", as: "style", href: new URL("dialog.css", base) });
      // All at once: on a slow line each file that names the next one costs a round trip.
      const parts = Promise.all(PARTS.map((name) => import(new URL(`${name}.js`, base).href)));
      const [settings, [module]] = await Promise.all([settle(), parts]);
      await module.start(host, { config: settings, root, base, mac });
    } catch (error) {
      dialog = null;
      throw error;
    }
  }

  /* Fetches the dialog and opens the connection to the sidecar when a reader is about to open it. */
  const warm = async () => {
    const { api_url: api } = await settle();
    const origin = api ? new URL(api, root).origin : location.origin;
    if (origin !== location.origin && !host.querySelector("link[rel=preconnect]")) {
      addLink({ rel: "preconnect", href: origin, crossOrigin: "anonymous" });
    }
    load().catch(() => {});
  };

  const open = async (trigger = null) => {
    if (loading) return;
    loading = true;
    typed = "";
    try {
      await load();
      const field = trigger?.matches(INPUTS) ? trigger : null;
      const query = (field?.value ?? "") + typed;
      if (field) field.value = "";
      host.open({ query, trigger });
    } catch {
      // The dialog could not be loaded: give the theme its search back.
      failed = true;
      const own = trigger ?? document.querySelector(TRIGGERS);
      own?.click();
      own?.focus();
    } finally {
      loading = false;
    }
  };

  const stop = (event) => {
    event.preventDefault();
    event.stopImmediatePropagation();
  };
  const takes = () => !failed && config?.triggers !== false;
  const triggerOf = (event) => {
    const at = event.composedPath()[0];
    return (takes() && at instanceof Element && at.closest(TRIGGERS)) || null;
  };
  const allowed = (name) =>
    Array.isArray(config?.shortcut) ? config.shortcut.includes(name) : config?.shortcut !== false;

  const shortcutOf = (event, at) => {
    const key = event.key?.toLowerCase();
    const mod = mac ? event.metaKey && !event.ctrlKey : event.ctrlKey && !event.metaKey;
    if (mod && key === "k" && !event.shiftKey && !event.altKey) return allowed("mod+k") && "mod+k";
    if (event.ctrlKey || event.metaKey || event.altKey || at.matches(EDITABLE)) return null;
    if (key === "/") return allowed("/") && "/";
    if (!takes() || event.shiftKey) return null;
    const own = document.querySelector(".md-search")
      ? "fs"
      : document.getElementById("mkdocs_search_modal")
        ? String.fromCharCode(window.shortcuts?.search ?? 83).toLowerCase()
        : "";
    return key.length === 1 && own.includes(key) && allowed("theme") && "theme";
  };

  const onKey = (event) => {
    if (failed || event.isComposing || event.defaultPrevented) return undefined;
    const at = event.composedPath()[0];
    if (!(at instanceof Element)) return undefined;
    const inside = host.contains(at);
    const trigger = inside ? null : triggerOf(event);
    const editing = at.isContentEditable || at.closest(EDITABLE);
    if (loading && !editing && event.key?.length === 1 && !event.ctrlKey && !event.metaKey && !event.altKey) {
      typed += event.key;
      return stop(event);
    }
    if (trigger?.matches(INPUTS) && (event.key === "Enter" || event.key === "ArrowDown")) {
      stop(event);
      return open(trigger);
    }
    if (editing && !inside && !trigger) return undefined;
    const shortcut = shortcutOf(event, at);
    if (!shortcut || (inside && shortcut !== "mod+k")) return undefined;
    stop(event);
    return host.isOpen ? host.close() : open(trigger || null);
  };

  /* Shows a heading that is inside a closed <details> or an unselected content tab. */
  const reveal = () => {
    let target = null;
    try {
      target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    } catch {
      return;
    }
    let moved = false;
    for (let node = target; node; node = node.parentElement) {
      if (node.localName === "details" && !node.open) moved = node.open = true;
      if (!node.classList.contains("tabbed-block")) continue;
      const index = [...node.parentElement.children].indexOf(node);
      const tab = node.closest(".tabbed-set")?.querySelectorAll(":scope > input")[index];
      if (tab && !tab.checked) {
        tab.click();
        moved = true;
      }
    }
    if (moved) target.scrollIntoView();
  };

  const fromLink = () => location.hash.startsWith("#semsearch=") && !host.isOpen && open();

  const addButton = () => {
    if (!document.querySelector('link[href*="assets/semsearch/semsearch.css"]'))
      addLink({ rel: "stylesheet", href: new URL("semsearch.css", base) });
    const button = document.createElement("button");
    button.type = "button";
    button.className = "semsearch-button";
    button.dataset.semsearch = "open";
    button.textContent = config.strings?.search ?? "Search";
    if (allowed("mod+k")) {
      const hint = document.createElement("kbd");
      hint.textContent = mac ? "⌘K" : "Ctrl K";
      button.append(" ", hint);
    }
    document.body.append(button);
  };

  const listen = (types, listener) => types.split(" ").forEach((type) => addEventListener(type, listener, true));
  listen("click", (event) => {
    const trigger = triggerOf(event);
    if (!trigger || event.button) return;
    stop(event);
    open(trigger);
  });
  // A press on the theme's field must not focus it. Tab may; then typing, Enter or Down opens the dialog.
  listen("mousedown", (event) => triggerOf(event)?.matches(INPUTS) && event.preventDefault());
  listen("input", (event) => {
    const trigger = triggerOf(event);
    if (!trigger?.matches(INPUTS)) return;
    event.stopImmediatePropagation();
    if (trigger.value) open(trigger);
  });
  listen("pointerover focusin touchstart", (event) => triggerOf(event) && warm());
  // Material opens its own search when its field has the focus, so it must not see ours move.
  listen("focusin focusout focus blur", (event) => {
    const at = event.target;
    if (takes() && at instanceof Element && (at.matches(INPUTS) || host.contains(at))) event.stopImmediatePropagation();
  });
  listen("keydown", onKey);
  listen("pageshow", fromLink); // back from the browser's cache
  listen("hashchange", () => {
    fromLink();
    reveal();
  });

  window.semsearch = { open: () => open(), close: () => host.close?.(), element: host };
  (window.requestIdleCallback ?? setTimeout)(async () => {
    await settle();
    const triggers = document.querySelectorAll(TRIGGERS);
    if (allowed("mod+k"))
      triggers.forEach((trigger) => trigger.setAttribute("aria-keyshortcuts", mac ? "Meta+K" : "Control+K"));
    if (!triggers.length && config.button !== false) addButton();
  });
  fromLink();
  if (window.document$?.subscribe) window.document$.subscribe(reveal);
  else reveal();
})();
