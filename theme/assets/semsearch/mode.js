/* The buttons in the line that says which engine answers. Loaded when there is a button. */

import { attempt } from "./state.js";
import { button, icon } from "./ui.js";

const ENGLISH = {
  show_better: "Show them",
  hide_note: "Hide this note",
};

export function fill(line, { store, t, search, root, input }) {
  t.add(ENGLISH);
  const key = `semsearch-note:${root.pathname}`;
  store.on(["mode", "better"], ({ mode, better }) => {
    if (mode === "better")
      line.append(
        button("ss-button", {}, () => {
          search.show({ ...better, improved: true });
          input.focus();
        }, t("show_better")),
      );
    if (mode === "static") {
      line.hidden = attempt(() => localStorage.getItem(key)) !== null;
      line.append(button("ss-round", { "aria-label": t("hide_note") }, hide, icon("close")));
    }
  });

  function hide() {
    line.hidden = true;
    attempt(() => localStorage.setItem(key, "hidden"));
    input.focus();
  }
}
