/*
 * Parts of the loader that few pages need: our own button, hidden headings, the theme's own search, and the marks of
 * Material on a page.
 */

/** Adds a button to a theme that has no search box, in the language of the dialog. */
export async function addButton(host, config, key) {
  if (!document.querySelector('link[href*="assets/semsearch/semsearch.css"]')) {
    const href = new URL("semsearch.css", import.meta.url);
    host.append(Object.assign(document.createElement("link"), { rel: "stylesheet", href }));
  }
  const button = Object.assign(document.createElement("button"), { type: "button", className: "semsearch-button" });
  button.dataset.semsearch = "open";
  button.textContent = await label(config).catch(() => "Search");
  if (key) button.append(" ", Object.assign(document.createElement("kbd"), { textContent: key }));
  document.body.append(button);
}

/** Returns the text of the button. A page in English loads no further file for it. */
async function label(config) {
  const { lang } = document.documentElement;
  const { language = lang, languages, strings, own_strings: own } = config;
  const primary = (tag) => tag.toLowerCase().split(/[-_]/)[0];
  const spoken = languages?.some((tag) => primary(tag) === primary(lang)) ? lang : language;
  const isEnglish = /^(?:en|$)/i.test(spoken) && !own?.includes("en");
  if (strings?.search || isEnglish) return strings?.search ?? "Search";
  const { loadStrings } = await import("./ui.js");
  return (await loadStrings(new URL(".", import.meta.url), spoken, config))("search");
}

/** Shows a heading that is inside a closed <details> or an unselected content tab. */
export function reveal(target) {
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
}

/** Starts the worker of the theme's own search instead of its replacement. Material passes it the `index`. */
export async function startWorker(idle, index) {
  const worker = new Worker(idle.url);
  const tell = (data) => worker.postMessage(data);
  worker.onmessage = ({ data }) => {
    const event = new MessageEvent("message", { data });
    idle.onmessage?.(event);
    idle.dispatchEvent(event);
  };
  if (index) tell({ type: 0, data: { options: {}, ...(await (await fetch(index)).json()) } });
  idle.asked.forEach(tell);
  idle.postMessage = tell;
}

/** Marks the words of `?h=` on the page, which Material cannot do without its index. */
export async function highlight() {
  const settings = document.getElementById("__config")?.textContent ?? "";
  const page = document.querySelector("[data-md-component=content]");
  if (!page || !settings.includes('"search.highlight"')) return;
  const { marksIn } = await import("./excerpt.js");
  const words = (new URLSearchParams(location.search).get("h") ?? "").split(/\s+/).filter(Boolean);
  const texts = document.createTreeWalker(page, NodeFilter.SHOW_TEXT);
  const found = [];
  while (texts.nextNode()) {
    const { currentNode: text } = texts;
    const { parentElement: parent } = text;
    if (parent.offsetHeight && !parent.closest("mark, script, style")) found.push([text, marksIn(text.data, words)]);
  }
  for (const [text, marks] of found)
    for (const [from, to] of marks.reverse()) {
      const word = text.splitText(from);
      word.splitText(to - from);
      const mark = document.createElement("mark");
      mark.dataset.mdHighlight = "";
      word.replaceWith(mark);
      mark.append(word);
    }
}
