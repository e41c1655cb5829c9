"use strict";
// The picture is in the page; this adds search, zoom, names of pages, and a card for what is pointed at.
{
  const HITS = 50, NAMES = 40, DEEPEST = 40, TAP = 24, HOVER = 12, LETTER = 7, LINE = 16;
  const byId = (id) => document.getElementById(id);
  const svg = byId("map"), card = byId("card"), input = byId("search"), hits = byId("hits"), status = byId("status");
  const [, , WIDTH, HEIGHT] = svg.getAttribute("viewBox").split(" ").map(Number);
  const view = { x: 0, y: 0, w: WIDTH };
  const height = () => (view.w * HEIGHT) / WIDTH;
  const fold = (text) => text.toLowerCase().normalize("NFD").replace(/\p{M}/gu, "");

  const items = [...svg.querySelectorAll("path")].map((element) => {
    const [x, y] = element.getAttribute("d").match(/[\d.]+/g).map(Number);
    const { page, url, note, value } = element.dataset;
    const name = element.dataset.name;
    return { element, x, y, name, page, url, note, value, text: fold(note ? name : `${name} ${page}`) };
  });
  const names = [...svg.querySelectorAll("text")].map((element) => ({
    element,
    x: Number(element.getAttribute("x")),
    y: Number(element.getAttribute("y")),
    letters: element.textContent.length,
  }));

  function made(tag, text, more = {}) {
    return Object.assign(document.createElement(tag), { textContent: text, ...more });
  }

  // How many units of the picture a pixel is.
  const unit = () => Math.max(view.w / svg.clientWidth, height() / svg.clientHeight);
  const clamp = (value, low, high) => Math.max(low, Math.min(high, value));

  function look(x, y, w) {
    view.w = clamp(w, WIDTH / DEEPEST, WIDTH);
    view.x = clamp(x, 0, WIDTH - view.w);
    view.y = clamp(y, 0, HEIGHT - height());
    svg.setAttribute("viewBox", `${view.x} ${view.y} ${view.w} ${height()}`);
    svg.classList.toggle("zoomed", view.w < WIDTH);
    drawNames();
  }

  function zoom(factor, x = view.x + view.w / 2, y = view.y + height() / 2) {
    const w = clamp(view.w / factor, WIDTH / DEEPEST, WIDTH);
    look(x - ((x - view.x) * w) / view.w, y - ((y - view.y) * w) / view.w, w);
  }

  // Names of pages, long pages first, wherever there is room.
  function drawNames() {
    const size = unit(), taken = [];
    for (const { element, x: own, y, letters } of names) {
      const half = Math.min((letters * LETTER * size) / 2, view.w / 2), low = LINE * size;
      const inside = own > view.x && own < view.x + view.w && y > view.y && y < view.y + height();
      const x = clamp(own, view.x + half, view.x + view.w - half);
      const free = taken.every((o) => Math.abs(o.x - x) > o.half + half || Math.abs(o.y - y) > low);
      const shown = inside && free && taken.length < NAMES;
      if (shown) taken.push({ x, y, half });
      element.classList.toggle("shown", shown);
      if (shown) {
        element.setAttribute("x", x);
        element.style.fontSize = `${12 * size}px`;
      }
    }
  }

  function choose(item) {
    if (!item) return;
    svg.querySelector(".chosen")?.classList.remove("chosen");
    item.element.classList.add("chosen");
    const place = made("p", "", { className: "soft" });
    place.append(item.note ?? "", " ", made("a", item.page, { href: item.url }));
    card.replaceChildren(made("p", item.name, { className: "name", dir: "auto" }), place);
  }

  function visit(item) {
    look(item.x - WIDTH / 8, item.y - HEIGHT / 8, WIDTH / 4);
    choose(item);
    svg.scrollIntoView({ block: "nearest" });
  }

  const placeOf = ({ x, y }) => new DOMPoint(x, y).matrixTransform(svg.getScreenCTM().inverse());

  function nearest(event, pixels) {
    const { x, y } = placeOf({ x: event.clientX, y: event.clientY });
    let best = null, least = (pixels * unit()) ** 2;
    for (const item of items) {
      const distance = (item.x - x) ** 2 + (item.y - y) ** 2;
      if (distance < least && !item.element.classList.contains("off")) [best, least] = [item, distance];
    }
    return best;
  }

  // One finger or the mouse moves the picture, two fingers zoom it.
  const fingers = new Map();
  let moved = false;

  function grip(end) {
    const points = [...fingers.values()].map((finger) => finger[end]);
    const x = points.reduce((sum, p) => sum + p.x, 0) / points.length;
    const y = points.reduce((sum, p) => sum + p.y, 0) / points.length;
    return { x, y, spread: Math.hypot(points[0].x - points.at(-1).x, points[0].y - points.at(-1).y) };
  }

  svg.addEventListener("pointerdown", (event) => {
    const here = { x: event.clientX, y: event.clientY };
    fingers.set(event.pointerId, { start: here, last: here, now: here });
    moved = fingers.size > 1;
  });
  svg.addEventListener("pointermove", (event) => {
    const finger = fingers.get(event.pointerId);
    if (!finger) {
      if (event.pointerType === "mouse") choose(nearest(event, HOVER));
      return;
    }
    finger.now = { x: event.clientX, y: event.clientY };
    if (!moved && Math.hypot(finger.now.x - finger.start.x, finger.now.y - finger.start.y) > 4) {
      moved = true;
      svg.setPointerCapture(event.pointerId);
    }
    if (moved) {
      const before = grip("last"), after = grip("now");
      const from = placeOf(before), to = placeOf(after);
      look(view.x + from.x - to.x, view.y + from.y - to.y, view.w);
      if (before.spread && after.spread) zoom(after.spread / before.spread, from.x, from.y);
    }
    finger.last = finger.now;
  });
  for (const type of ["pointerup", "pointercancel"]) {
    svg.addEventListener(type, (event) => {
      if (fingers.delete(event.pointerId) && !moved && type === "pointerup") choose(nearest(event, TAP));
    });
  }
  svg.addEventListener("pointerleave", (event) => fingers.delete(event.pointerId));
  svg.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return; // without a key the wheel scrolls the page
    event.preventDefault();
    const { x, y } = placeOf({ x: event.clientX, y: event.clientY });
    zoom(event.deltaY < 0 ? 1.2 : 1 / 1.2, x, y);
  }, { passive: false });

  byId("in").addEventListener("click", () => zoom(1.6));
  byId("out").addEventListener("click", () => zoom(1 / 1.6));
  byId("whole").addEventListener("click", () => look(0, 0, WIDTH));

  input.addEventListener("input", () => {
    const words = fold(input.value).split(/\s+/).filter(Boolean);
    const found = items.filter((item) => words.length && words.every((word) => item.text.includes(word)));
    const isFound = new Set(found);
    for (const item of items) item.element.classList.toggle("hit", isFound.has(item));
    svg.classList.toggle("searching", words.length > 0);
    status.textContent = words.length ? `${found.length} of ${items.length}` : "";
    hits.replaceChildren(...found.slice(0, HITS).map((item) => {
      const entry = document.createElement("li");
      const button = made("button", item.name, { type: "button", dir: "auto" });
      button.addEventListener("click", () => visit(item));
      entry.append(button, " ", made("code", item.page));
      return entry;
    }));
  });

  const values = [...document.querySelectorAll("#legend button")];
  for (const button of values) {
    button.addEventListener("click", () => {
      const on = button.getAttribute("aria-pressed") !== "true";
      for (const other of values) other.setAttribute("aria-pressed", String(on && other === button));
      for (const item of items) {
        item.element.classList.toggle("off", on && item.value !== undefined && item.value !== button.dataset.value);
      }
    });
  }
  for (const button of document.querySelectorAll("button[data-mark]")) {
    button.addEventListener("click", () => visit(items.find((item) => item.element.id === button.dataset.mark)));
  }

  document.documentElement.classList.add("alive");
  addEventListener("resize", drawNames);
  look(0, 0, WIDTH);
}
