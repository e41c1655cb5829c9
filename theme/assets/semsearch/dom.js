/* DOM building: attributes and text nodes only, so nothing a server says can become markup. */

const SVG = "http://www.w3.org/2000/svg";

/** Creates an element. `on` holds listeners; null and false attributes are left out; strings become text. */
export function h(tag, { on = {}, ...attributes } = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) set(element, name, value);
  for (const [type, listener] of Object.entries(on)) element.addEventListener(type, listener);
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Sets an attribute, or removes it when the value is null or false. */
export function set(element, name, value) {
  if (value === null || value === undefined || value === false) element.removeAttribute(name);
  else element.setAttribute(name, value === true ? "" : String(value));
}

const PATHS = {
  search: ["M10.5 4a6.5 6.5 0 1 1 0 13 6.5 6.5 0 0 1 0-13Z", "m15.5 15.5 5 5"],
  close: ["M6 6l12 12M18 6 6 18"],
  page: ["M7 3h7l4 4v14H7a1 1 0 0 1-1-1V4a1 1 0 0 1 1-1Z", "M14 3v4h4M9 12h6M9 16h6"],
  section: ["M9.5 4 7.5 20M16.5 4l-2 16M4.5 9.5h16M3.5 14.5h16"],
  code: ["m8.5 7-5 5 5 5M15.5 7l5 5-5 5"],
  recent: ["M12 4a8 8 0 1 1 0 16 8 8 0 0 1 0-16Z", "M12 8v4.5l3 2"],
  filter: ["M4 6h16M7 12h10M10 18h4"],
  more: ["m7 10 5 5 5-5"],
  enter: ["M19 6v6H6", "m9 8-4 4 4 4"],
};

/** An icon as inline SVG, hidden from assistive technology. */
export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("class", "ss-icon");
  svg.setAttribute("aria-hidden", "true");
  for (const d of PATHS[name]) {
    const path = document.createElementNS(SVG, "path");
    path.setAttribute("d", d);
    svg.append(path);
  }
  return svg;
}
