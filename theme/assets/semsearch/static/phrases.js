/* Finds the rows in which words follow each other. Loaded for a phrase in quotation marks. */

export async function phraseRows(bundle, terms, readers) {
  const read = (blocks) => readPositions(blocks, readers);
  const [first, ...rest] = await Promise.all(
    terms.map(async (term) => (await bundle.shard("positions", term, read)).get(term) ?? new Map()),
  );
  if (!first) return [];
  const follows = (row, place) => rest.every((found, distance) => found.get(row)?.includes(place + distance + 1));
  return [...first].filter(([row, places]) => places.some((place) => follows(row, place))).map(([row]) => row);
}

/** Maps each word to its rows, and each row to the positions of the word. */
function readPositions(blocks, { summed, varintReader }) {
  const [nextRow, nextCount, nextPlace] = ["rows", "counts", "places"].map((name) => varintReader(blocks.array(name)));
  const sizes = blocks.array("sizes");
  return new Map(
    blocks.texts("keys").map((key, at) => {
      const rows = [...summed(nextRow, sizes[at])];
      return [key, new Map(rows.map((row) => [row, summed(nextPlace, nextCount())]))];
    }),
  );
}
