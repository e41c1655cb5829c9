/* Words of a question, and where they stand in a text. */

const WORD = /[\p{L}\p{N}_]+/gu;
// Scripts written without spaces: a word may start anywhere.
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;

/** Lower case without accents, of the same length as the text so that offsets stay valid. */
export function fold(text) {
  const lower = text.toLowerCase();
  const source = lower.length === text.length ? lower : text;
  if (/^[\x00-\x7f]*$/.test(source)) return source;
  let folded = "";
  for (const character of source) {
    const plain = character.normalize("NFD").replace(/\p{M}/gu, "");
    folded += plain.length === character.length ? plain : character;
  }
  return folded;
}

/** The distinct folded words of a question. */
export const termsOf = (query) => [...new Set(fold(query).match(WORD) ?? [])];

const isWord = (character) => character !== undefined && /[\p{L}\p{N}_]/u.test(character);

/** Offsets at which `term` starts a word of `folded`, at most `limit`. */
export function occurrences(folded, term, limit = 8) {
  const anywhere = UNSPACED.test(term);
  const found = [];
  for (let at = folded.indexOf(term); at >= 0 && found.length < limit; at = folded.indexOf(term, at + term.length)) {
    if (anywhere || !isWord(folded[at - 1])) found.push(at);
  }
  return found;
}

/** Whether the term at `at` is a whole word there. */
export const isWhole = (folded, term, at) => !isWord(folded[at + term.length]);

/** Sorted, disjoint `[start, end)` ranges of the question's words in a text. */
export function marksIn(text, terms) {
  const folded = fold(text);
  const ranges = terms
    .filter((term) => term.length > 1 || UNSPACED.test(term))
    .flatMap((term) => occurrences(folded, term).map((at) => [at, at + term.length]));
  ranges.sort((a, b) => a[0] - b[0]);
  return ranges.filter(([start], index) => index === 0 || start >= ranges[index - 1][1]);
}
