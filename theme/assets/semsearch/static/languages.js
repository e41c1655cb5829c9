/* The languages of pages; see searching/chunk_map.py and `one_translation` in searching/results.py. */

const primary = (tag) => tag.split("-")[0];

/** Returns whether the default model can read a question: not if all letters are of other scripts than Latin. */
export const isLegible = ({ text }) => /[a-z]/i.test(text) || !/\p{L}/u.test(text);

export class Languages {
  constructor({ languages: { tags, coverage }, language }, core) {
    this.codes = core.array("languages"); // 0 if a page has none
    this.groups = core.array("translation_of");
    this.tags = tags;
    const share = (code) => coverage[this.tags[code - 1] ?? language] ?? 1;
    this.meaning = Object.keys(coverage).length ? Float32Array.from(this.codes, share) : null;
  }

  /** Returns a function that says whether a page is in another language than the reader's; null if no page is in the reader's. */
  foreignTo(reader = "") {
    const wanted = reader.replaceAll("_", "-").toLowerCase();
    const codes = (fits) => this.tags.flatMap((tag, at) => (fits(tag.toLowerCase()) ? at + 1 : []));
    const same = codes((tag) => tag === wanted);
    const own = same.length ? same : codes((tag) => primary(tag) === primary(wanted));
    return (page) => own.length > 0 && this.codes[page] > 0 && !own.includes(this.codes[page]);
  }

  /** Returns the best similarity, null where only words tell, and the best score by words; see `_evidence` in searching/scoring.py. */
  evidence(question, { rows, semantic, worded }, pageOf) {
    const words = worded.reduce((most, score) => Math.max(most, score), 0);
    const isKnown = (at) => this.meaning[pageOf[rows[at]]] === 1;
    if ((words && !isKnown(worded.indexOf(words))) || !isLegible(question)) return { similarity: null, words };
    const best = (most, similarity, at) => (isKnown(at) ? Math.max(most, similarity) : most);
    return { similarity: semantic?.reduce(best, -1) ?? null, words };
  }

  /** Keeps one page of each group of translations: the one in the reader's language if it matches, else the best. */
  oneTranslation(found, pageOf, isForeign) {
    if (!this.groups.length) return found;
    const pages = new Map();
    found.rows.forEach((row, at) => {
      const page = pageOf[row];
      const [matching = 0, score = -1] = pages.get(page) ?? [];
      pages.set(page, [matching | found.matching[at], Math.max(score, found.scores[at])]);
    });
    const shown = new Map();
    for (const [page, [matching, score]] of pages) {
      const rank = [matching, +!isForeign(page), score];
      const [, best] = shown.get(this.groups[page]) ?? [];
      if (!best || isBetter(rank, best)) shown.set(this.groups[page], [page, rank]);
    }
    const isKept = (_, at) => shown.get(this.groups[pageOf[found.rows[at]]])[0] === pageOf[found.rows[at]];
    const kept = ["rows", "scores", "pageScores", "matching", "semantic", "lexical"].map((name) => [name, found[name]?.filter(isKept)]);
    return { ...found, ...Object.fromEntries(kept.map(([name, part]) => [name, part ?? null])) };
  }
}

/** Compares lists by their first difference. */
function isBetter(one, other) {
  const at = one.findIndex((value, place) => value !== other[place]);
  return at >= 0 && one[at] > other[at];
}
