/* Looks up headings, titles and pins by hashes of their letters and digits. See searching/ranking.py. */

// Ranks of the literal rule.
export const HEADING = 2;
export const TITLE = 3;
export const PIN = 4;

/**
 * Returns pairs of a row with this name and its rank. If there is none, a title that is its plural or singular counts.
 * If there are only headings, and `plurals` is set, a title that is its plural counts like them.
 */
export function rowsNamed(text, core, plurals) {
  const [hashes, rows, ranks] = ["name_hash", "name_row", "name_rank"].map((name) => core.array(name));
  const names = namesOf(text);
  const [same = [], ...others] = names.map(fnv1a).map((hash) => {
    const from = hashes.indexOf(hash);
    return [...rows.slice(from, hashes.lastIndexOf(hash) + 1)].map((row, at) => [row, ranks[from + at]]);
  });
  const isTitle = ([, rank]) => rank >= TITLE;
  const titles = others.flat().filter(isTitle);
  if (!same.length) return titles;
  const add = plurals && names[1].length > names[0].length && !same.some(isTitle);
  return add ? [...same, ...titles.map(([row]) => [row, HEADING])] : same;
}

/** Returns the letters and digits of a title or heading, and what may be its plural or singular. */
export function namesOf(text) {
  const folded = text.normalize("NFKC").toLowerCase().replaceAll("ß", "ss").replaceAll("ς", "σ");
  const words = folded.replace(/[^\p{L}\p{N}]+/gu, " ").trim();
  const name = words.replace(/(?<!\p{Nd}) | (?!\p{Nd})/gu, ""); // 1.12 is not 11.2
  return name ? [name, ...otherNumbers(name)] : [];
}

function otherNumbers(name) {
  if (name.endsWith("ies")) return [`${name.slice(0, -3)}y`, name.slice(0, -1)];
  if (/(?:s|x|ch|sh)es$/.test(name)) return [name.slice(0, -2), name.slice(0, -1)];
  if (/s$/.test(name) && !/[sui]s$/.test(name)) return [name.slice(0, -1)];
  if (name.endsWith("y")) return [`${name.slice(0, -1)}ies`, `${name}s`];
  return [/(?:s|x|ch|sh)$/.test(name) ? `${name}es` : `${name}s`];
}

function fnv1a(text) {
  let value = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) value = Math.imul(value ^ byte, 0x01000193);
  return value >>> 0;
}
