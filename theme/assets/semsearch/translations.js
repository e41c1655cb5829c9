/* Links each result to its page in other languages. Loaded on sites with several languages. */

import { optionsOf } from "./results.js";
import { h, set } from "./ui.js";
import { nameOfLanguage } from "./values.js";

export function fill(list, { store, input, href, prefix }) {
  store.on(["answer", "nearest"], ({ active }) => {
    for (const main of list.querySelectorAll(".ss-main-option")) {
      const { language, translations = {} } = main.hit.page;
      const others = Object.keys(translations).filter((tag) => tag !== language);
      if (!others.length) continue;
      const links = others.map((tag) => {
        const target = { href: href({ url: translations[tag] }), tabindex: -1 };
        const names = { role: "option", lang: tag, hreflang: tag, "data-semsearch": "option" };
        const link = h("a.ss-option.ss-section", { ...target, ...names, draggable: "false" }, nameOfLanguage(tag));
        return Object.assign(link, { hit: main.hit });
      });
      main.parentNode.append(h("div.ss-sections.ss-languages", { role: "presentation" }, links));
    }
    // The list has more rows than its own module has counted.
    optionsOf(list).forEach((option, index) => {
      option.id = `${prefix}-option-${index}`;
      set(option, "aria-selected", `${index === active}`);
    });
    set(input, "aria-activedescendant", optionsOf(list)[active]?.id);
  });
}
