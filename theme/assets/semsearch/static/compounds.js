/* Divides the compounds of a question that a site does not have into words that it has, as lexical/compounds.py does.
   Loaded on sites whose language has compounds. */

const LEAST = 4; // letters of a part
const LONGEST = 60;
const MOST_PARTS = 4;

/**
 * Returns the parts of a compound, with the longest possible first part; none if it cannot be divided. `isPart` returns
 * for each of some words whether the site has it; `links` are the letters that may link two parts.
 */
export async function divideCompound(term, isPart, links, most = MOST_PARTS) {
  const letters = [...term];
  if (most < 2 || letters.length < 2 * LEAST || letters.length > LONGEST) return [];
  if (!/^\p{L}+$/u.test(term)) return [];
  const places = Array.from({ length: letters.length - 2 * LEAST + 1 }, (_, at) => letters.length - LEAST - at);
  const begun = places.map((place) => unlinked(letters.slice(0, place).join(""), links));
  const known = await isPart(begun.flat());
  for (const [at, place] of places.entries()) {
    const first = begun[at].find((word) => known.has(word));
    if (first === undefined) continue;
    const rest = letters.slice(place).join("");
    const others = (await isPart([rest])).has(rest) ? [rest] : await divideCompound(rest, isPart, links, most - 1);
    if (others.length) return [first, ...others];
  }
  return [];
}

/** Returns the beginning of a compound as it is, and without the letters that link it to the next part. */
const unlinked = (word, links) =>
  links
    .filter((link) => word.endsWith(link) && word.length - link.length >= LEAST)
    .map((link) => word.slice(0, word.length - link.length));
