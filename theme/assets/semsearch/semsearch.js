/* Every page loads this. It takes over the theme's own search triggers, and loads the dialog on first use. */
(() => {
  "use strict";
  const script = document.currentScript ?? document.querySelector('script[src*="assets/semsearch/semsearch.js"]');
  // Neither modules nor fetch work on file://, so the theme's own search stays.
  // A heading with the id "semsearch" is window.semsearch too.
  if (!script || window.semsearch?.element || location.protocol === "file:") return;

  const base = new URL(".", script.src);
  const root = new URL("../../", base);
  const mac = /Mac|iPhone|iPad/.test(navigator.userAgentData?.platform ?? navigator.platform);
  const OWN = "[data-semsearch=open]"; // the site's own buttons and fields
  const INPUTS = `#rtd-search-form input[name=q],.md-search__input,input${OWN}`;
  const BUTTONS =
    '[data-bs-target="#mkdocs_search_modal"],[data-target="#mkdocs_search_modal"],.md-search__button,label[for=__search]';
  const TRIGGERS = `${INPUTS},${BUTTONS},${OWN}`;
  const EDITABLE = "input:not([type=radio],[type=checkbox]),select,textarea,button,[role=textbox]";

  let config = null;
  let settling = null;
  let loading = false;
  let dialog = null; // a promise
  let begun = false; // the files of a search without a server
  let worker;
  let failed = false;
  let typed = "";

  const host = document.querySelector("semsearch-dialog") ?? document.createElement("semsearch-dialog");
  const attach = () => host.isConnected || (document.body ?? document.documentElement).append(host);
  attach(); // and again when a script has replaced the body
  // Some themes load scripts in the head. The dialog needs the body's font; moving an open dialog would close it.
  if (!document.body) addEventListener("DOMContentLoaded", () => host.isOpen || document.body.append(host));

  /* If the request gets lost, the dialog makes another one. */
  const settle = () =>
    (settling ??= fetch(new URL("config.json", base))
      .then((response) => (response.ok ? response.json() : {}))
      .catch(() => (settling = null))
      .then((found) => (config = found ?? {})));

  /* Imports a module. Firefox and Safari never request one again that they could not get without a connection. */
  const bring = async (name) => {
    const { href } = new URL(name, base);
    if (!navigator.onLine) await fetch(href);
    return import(href);
  };

  /* Calls a function of a module that few pages need. They do without it if it gets lost. */
  const call = async (name, ...given) => (await bring("rare.js").catch(() => ({})))[name]?.(...given);

  const addLink = (attributes) => host.append(Object.assign(document.createElement("link"), attributes));

  /*
   * Loads the files of a search without a server together with the dialog: on a slow line, each file that is loaded
   * after another costs a second. Returns the worker, or nothing if workers are forbidden.
   */
  const ahead = () => {
    if (begun) return worker;
    begun = true;
    const fetchFiles = async () => {
      const { bundle } = await (await fetch(new URL("semsearch/static.json", root), { cache: "no-cache" })).json();
      for (const name of ["core.bin", "tokens/core.bin"]) fetch(new URL(`semsearch/${bundle}/${name}`, root)).catch(() => {});
    };
    fetchFiles().catch(() => {}); // the search requests them again and reports the error
    try {
      worker = new Worker(new URL("static/worker.js", base), { type: "module" });
      worker.onerror = () => (worker.broken = true);
    } catch {} // the site forbids workers
    return worker;
  };

  const loadParts = async () => {
    try {
      // A preload that fails makes the style sheet fail too, even later.
      if (navigator.onLine) addLink({ rel: "preload", as: "style", href: new URL("dialog.css", base) });
      const names = config?.static ? ["dialog.js", "static/engine.js"] : ["dialog.js"];
      const parts = Promise.all(names.map(bring));
      if (config?.static && !config.api_url) ahead();
      const [, [module]] = await Promise.all([settle(), parts]);
      await module.start(host, { config: await settle(), root, base, mac });
    } catch (error) {
      dialog = null;
      throw error;
    }
  };

  /* Loads the dialog once, or again after a failure. */
  const load = () => (dialog ??= loadParts());

  /* Loads the dialog for a reader who may be about to open it. */
  const warm = async () => {
    const { api_url: api } = config ?? (await settle());
    const origin = api ? new URL(api, root).origin : location.origin;
    if (origin !== location.origin && !host.querySelector("link[rel=preconnect]")) {
      addLink({ rel: "preconnect", href: origin, crossOrigin: "anonymous" });
    }
    load().catch(() => {});
  };

  const theme = themeSearch();

  const open = async (trigger = null, shortcut = "") => {
    if (loading) return;
    loading = true;
    typed = "";
    attach();
    const theirs = trigger ? !trigger.matches(OWN) : shortcut === "theme"; // events that open the theme's own search
    try {
      await load();
      // The settings may have just arrived.
      if (loading && (!theirs || takes()) && (!shortcut || allowed(shortcut))) {
        const field = trigger?.matches(INPUTS) ? trigger : null;
        const query = (field?.value ?? "") + typed;
        if (field) field.value = "";
        host.open({ query, trigger });
      }
    } catch {
      failed = navigator.onLine; // without a connection the theme's own search could not load its index either
    }
    loading = false;
    if (theirs ? !takes() : failed) {
      theme.giveBack();
      const own = trigger ?? document.querySelector(TRIGGERS);
      own?.click();
      own?.focus();
    }
  };

  const stop = (event) => {
    event.preventDefault();
    event.stopImmediatePropagation();
  };
  const takes = () => !failed && config?.triggers !== false;
  const triggerOf = (event) => {
    const at = event.composedPath()[0];
    return (!failed && at instanceof Element && at.closest(takes() ? TRIGGERS : OWN)) || null;
  };
  const allowed = (name) =>
    Array.isArray(config?.shortcut) ? config.shortcut.includes(name) : config?.shortcut !== false;

  const shortcutOf = (event, at) => {
    const key = (event.key ?? "").toLowerCase(); // a browser that fills in a form may send none
    const mod = mac ? event.metaKey && !event.ctrlKey : event.ctrlKey && !event.metaKey;
    // Keyboards for other scripts have no k: there the position of the key counts.
    const isK = key === "k" || (event.code === "KeyK" && !/^[a-z]$/.test(key));
    if (mod && isK && !event.shiftKey && !event.altKey) return allowed("mod+k") && "mod+k";
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
    const at = event.composedPath()[0];
    if (failed || event.isComposing || event.defaultPrevented || !(at instanceof Element)) return;
    const { key = "" } = event;
    if (key === "Escape") loading = false;
    const inside = host.contains(at);
    const trigger = triggerOf(event);
    const editing = at.isContentEditable || at.closest(EDITABLE);
    if (loading && !editing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      if (key.length === 1) typed += key;
      else if (key === "Backspace") typed = typed.slice(0, -1);
      else if (key !== "Enter") return;
      stop(event);
    } else if (trigger?.matches(INPUTS) && (key === "Enter" || key === "ArrowDown")) {
      stop(event);
      open(trigger);
    } else if (!editing || inside || trigger) {
      const shortcut = shortcutOf(event, at);
      if (!shortcut || (inside && shortcut !== "mod+k")) return;
      stop(event);
      if (event.repeat) return;
      if (host.isOpen) host.close();
      else open(trigger, shortcut);
    }
  };

  const reveal = () => {
    try {
      const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
      if (target?.closest("details,.tabbed-block")) call("reveal", target);
    } catch {} // no such address
  };

  const fromLink = () => location.hash.startsWith("#semsearch=") && !host.isOpen && open();

  const listen = (types, listener) => types.split(" ").forEach((type) => addEventListener(type, listener, true));
  listen("click", (event) => {
    const trigger = triggerOf(event);
    if (!trigger) return;
    stop(event);
    open(trigger);
  });
  // A press on the theme's field must not focus it. Tab may; then typing, Enter or Down opens the dialog.
  listen("mousedown", (event) => triggerOf(event)?.matches(INPUTS) && event.preventDefault());
  listen("input compositionend", (event) => {
    const trigger = triggerOf(event);
    if (!trigger?.matches(INPUTS)) return;
    event.stopImmediatePropagation();
    if (trigger.value && !event.isComposing) open(trigger);
  });
  listen("pointerover focusin touchstart", (event) => triggerOf(event) && warm());
  // Material opens its own search when its field has the focus, so it must not see ours move.
  listen("focusin focusout focus blur", (event) => {
    const isOurs = (at) => at instanceof Element && (at.matches(INPUTS) || host.contains(at));
    if (takes() && (isOurs(event.target) || isOurs(event.relatedTarget))) event.stopImmediatePropagation();
  });
  listen("keydown", onKey);
  listen("pageshow", fromLink); // back from the browser's cache
  listen("hashchange", () => {
    fromLink();
    reveal();
  });

  window.semsearch = { open: () => open(), close: () => host.close?.(), element: host, ahead };
  (window.requestIdleCallback ?? setTimeout)(async () => {
    await settle();
    const triggers = document.querySelectorAll(TRIGGERS);
    if (allowed("mod+k"))
      triggers.forEach((trigger) => trigger.setAttribute("aria-keyshortcuts", mac ? "Meta+K" : "Control+K"));
    // The key of MkDocs' own theme opens its own search if it is left to it.
    const isLeft = document.getElementById("mkdocs_search_modal") && !allowed("theme");
    if (config.triggers === false || isLeft) theme.giveBack();
    if (!triggers.length && config.button !== false) call("addButton", host, config, allowed("mod+k") && (mac ? "⌘K" : "Ctrl K"));
  });
  const arrive = () => {
    reveal();
    if (theme.waits() && location.search.includes("h=")) call("highlight");
  };
  const follow = () => {
    if (window.document$?.subscribe) window.document$.subscribe(arrive);
    else arrive();
  };
  const ownPage = document.querySelector(".rst-content #mkdocs-search-results");
  if (document.readyState === "loading" && !ownPage) theme.holdBack(follow);
  else follow();
  fromLink();

  /*
   * The theme's own search gets a replacement for its worker, and loads nothing until it is needed. `holdBack` runs before
   * the scripts of the theme. Material reads its index only if its form has a name.
   */
  function themeSearch() {
    let idle = null;
    const form = document.forms.namedItem("search");
    const rename = (name) => form && (form.name = name);

    const holdBack = (released) => {
      const { Worker } = window;
      const given = new URLSearchParams(location.search);
      const query = given.get("q");
      given.delete("q");
      const ours = document.querySelector("[data-semsearch=page]") ? `?${given}&query=` : "#semsearch=";
      // The themes with these buttons open their own search at `?q=`.
      if (query && document.querySelector(BUTTONS))
        history.replaceState(history.state, "", location.origin + location.pathname + ours + encodeURIComponent(query));
      rename("");
      window.Worker = new Proxy(Worker, {
        construct(real, [url, options]) {
          if (!/\/search(\/worker|\.\w+\.min)\.js$/.test(url)) return new real(url, options);
          const asked = [];
          const parts = { url: new URL(url, location), asked, postMessage: (data) => asked.push(data) };
          return (idle = Object.assign(new EventTarget(), parts));
        },
      });
      addEventListener("DOMContentLoaded", () => {
        window.Worker = Worker;
        rename("search");
        released();
      });
    };

    const giveBack = () => {
      const worker = idle;
      idle = null;
      if (worker) call("startWorker", worker, form && new URL("search/search_index.json", root));
    };

    return { holdBack, giveBack, waits: () => idle && form };
  }
})();
