/* Counts typos between two words, and spells words as in Britain or America. Loaded for a word that the site lacks. */

// British, American, least number of letters before, what follows. The same table is in `lexical/spellings.py`.
const PAIRS = [
  ["our", "or", 3, ""],
  ["is", "iz", 2, ""],
  ["ys", "yz", 2, ""],
  ["enc", "ens", 1, "(?:e|ing)"],
  ["ogue", "og", 3, "s?$"],
  ["tre", "ter", 2, "s?$"],
  ["bre", "ber", 2, "s?$"],
  ["ell", "el", 3, "(?:ed|er|ing)"],
  ["gramme", "gram", 3, "s?$"],
  ["dgement", "dgment", 2, ""],
  ["artef", "artif", 0, ""],
  ["grey", "gray", 0, ""],
];

/** Returns candidates for the American or British spelling of a word: `behavior` for `behaviour`; most are no words. */
export function otherSpellings(word) {
  const found = [];
  for (const [british, american, least, following] of PAIRS)
    for (const [one, other] of [[british, american], [american, british]])
      for (const { index } of word.matchAll(new RegExp(`${one}(?=${following})`, "g")))
        if (index >= least) found.push(word.slice(0, index) + other + word.slice(index + one.length));
  return found;
}

/** Returns the optimal string alignment distance, or a number above `most`. Two swapped letters are one typo. */
export function typos(a, b, most) {
  if (Math.abs(a.length - b.length) > most) return most + 1;
  let before = [];
  let last = b.map((_, j) => j).concat(b.length);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const differs = a[i - 1] === b[j - 1] ? 0 : 1;
      row[j] = Math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + differs);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        row[j] = Math.min(row[j], before[j - 2] + 1);
    }
    if (Math.min(...row) > most) return most + 1;
    [before, last] = [last, row];
  }
  return last[b.length];
}
