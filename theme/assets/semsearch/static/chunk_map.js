/* Finds the page and the section of each chunk, and the factors of its scores. See searching/chunk_map.py. */

/** Returns the page, the section and the factors of each chunk, and the first chunk of each page. */
export function chunkMap(core, chunks, weights) {
  const pageOf = new Uint32Array(chunks);
  const firstChunk = [];
  let row = 0;
  core.array("page_chunks").forEach((count, page) => {
    firstChunk.push(row);
    pageOf.fill(page, row, (row += count));
  });
  let section = -1;
  const sectionOf = Uint32Array.from(core.array("section_starts"), (start) => (section += start));
  const map = { pageOf, sectionOf, firstChunk, sectionFactors: core.array("section_factors") };
  return { ...map, shownShare: weights.sections.shown, chunkFactors: factorsOf(core, map, weights) };
}

/** Returns the place of the chunk of a section that is shown, see `shown_rows` of searching/results.py; `at` is the best. */
export function shownOf(at, { rows, scores, ranks, lexical }, { sectionOf, shownShare }) {
  const first = rows.indexOf(sectionOf.indexOf(sectionOf[rows[at]]));
  const same = ranks.get(rows[first]) === ranks.get(rows[at]) && (!lexical || lexical[first] > 0 || !lexical[at]);
  return same && scores[first] >= shownShare * scores[at] ? first : at;
}

/** Returns the factor of both sides of each chunk: lower for one with little text, or with a text on many pages. */
function factorsOf(core, map, { short_chunks, repeated }) {
  const factors = lengthFactors(core.array("sizes"), short_chunks);
  const lowered = repetitions(core.array("twins"), core.array("twin_of"), map, repeated);
  return lowered ? factors.map((factor, row) => factor * lowered[row]) : factors;
}

const lengthFactors = (sizes, { bytes, factor }) =>
  Float32Array.from(sizes, (size) => factor + (1 - factor) * Math.min(1, size / bytes));

/** `twins`: the sections with an earlier section that says the same, `twinOf`; null if none can be on enough pages. */
function repetitions(twins, twinOf, { sectionOf, pageOf, firstChunk }, { pages, share, factor }) {
  const least = Math.max(pages, share * firstChunk.length);
  if (twins.length + 1 < least) return null;
  const groups = Uint32Array.from({ length: sectionOf.at(-1) + 1 }, (_, section) => section);
  twins.forEach((section, at) => (groups[section] = twinOf[at]));
  const [onPages, lastPage] = [new Uint32Array(groups.length), new Int32Array(groups.length).fill(-1)];
  sectionOf.forEach((section, row) => {
    const group = groups[section];
    if (lastPage[group] !== pageOf[row]) onPages[group] += 1;
    lastPage[group] = pageOf[row];
  });
  return Float32Array.from(sectionOf, (section) => (onPages[groups[section]] < least ? 1 : factor));
}
