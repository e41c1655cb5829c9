/*
 * Search by meaning without a model: a table of tokens turns the question into a vector, which is compared with the
 * vectors of all chunks. All sums are whole numbers below 2^53, so static/meaning.py computes the same bits.
 */

const CONTINUATION = "##";
const MAX_WORDS = 128;
const LONGEST_WORD = 100;
const WORD =
  /[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]|(?:(?![\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff])[\p{L}\p{N}])+/gu;

export class Meaning {
  constructor(bundle) {
    this.bundle = bundle;
    this.semantic = bundle.pointer.semantic;
  }

  /** Fetches the vectors of the chunks and of the tokens of a text. */
  load(text) {
    return Promise.all([this.#table(), this.#tokens(text)]);
  }

  /** Returns the similarity of each row to a text, -1 to 1. */
  async similarities(text) {
    const [{ levels, offsets, weights }, tokens] = await this.load(text);
    const question = vectorOf(tokens, weights);
    const { length } = question;
    const offset = question.reduce((sum, value, d) => sum + value * offsets[d], 0);
    const found = new Float32Array(levels.length / length);
    for (let row = 0, at = 0; row < found.length; row++) {
      let sum = 0;
      for (let d = 0; d < length; d++) sum += levels[at++] * question[d];
      found[row] = Math.max(-1, Math.min(1, (sum + offset) * this.semantic.unit));
    }
    return found;
  }

  /** Returns whether a word is one token. */
  async hasToken(word) {
    if ((await this.#core()).has(word)) return true;
    const shard = await this.#shard(word);
    return shard.has(word) || shard.rarer.has(word);
  }

  #table() {
    return this.bundle.read("vectors.bin", (blocks) => ({
      levels: unpack(blocks.array("codes"), this.semantic.planes),
      weights: blocks.array("weights"),
      offsets: blocks.array("offsets"),
    }));
  }

  async #tokens(text) {
    const core = await this.#core();
    const words = wordsOf(text).map((word) => (core.has(word) ? [core.get(word)] : this.#pieces(word)));
    return (await Promise.all(words)).flat();
  }

  /** Splits a word by WordPiece: takes the longest token at its start, then the longest at the start of the rest. */
  async #pieces(word) {
    const found = [];
    for (let letters = [...word], mark = ""; letters.length; mark = CONTINUATION) {
      const beginning = (length) => mark + letters.slice(0, length).join("");
      let { length } = letters;
      const shard = await this.#shard(beginning(length));
      while (length && !shard.has(beginning(length))) length -= 1;
      if (length) found.push(shard.get(beginning(length)));
      letters = letters.slice(length || 1); // a character that no token has is left out
    }
    return found;
  }

  #shard(text) {
    const parse = (blocks) => Object.assign(this.#tokenMap(blocks), { rarer: new Set(blocks.texts("rarer")) });
    return this.bundle.shard("tokens", text, parse);
  }

  #core() {
    return this.bundle.read("tokens/core.bin", (blocks) => this.#tokenMap(blocks));
  }

  #tokenMap(blocks) {
    const keys = blocks.texts("keys");
    const scales = blocks.array("scale");
    const levels = unpack(blocks.array("codes"), this.semantic.token_planes);
    const width = levels.length / keys.length;
    return new Map(
      keys.map((key, at) => [key, { scale: scales[at], levels: levels.subarray(at * width, (at + 1) * width) }]),
    );
  }
}

/** Returns the vector of a question in whole numbers; zeros if no token is known. */
function vectorOf(tokens, weights) {
  const total = new Float64Array(weights.length);
  for (const { levels, scale } of tokens) levels.forEach((level, d) => (total[d] += level * scale));
  const norm = Math.sqrt(total.reduce((sum, value) => sum + value * value, 0));
  return norm ? total.map((value, d) => Math.floor((value / norm) * weights[d] + 0.5)) : total;
}

/** Returns words in lower case without accents; each ideograph is a word. */
function wordsOf(text) {
  const plain = text.normalize("NFD").replace(/\p{Mn}/gu, "");
  const words = plain.toLowerCase().match(WORD) ?? [];
  return words.filter((word) => [...word].length <= LONGEST_WORD).slice(0, MAX_WORDS);
}

/** Unpacks codes into levels, odd whole numbers around 0. Every row begins with a new byte. */
function unpack(codes, [[dimensions, bits]]) {
  const bytes = Math.ceil((dimensions * bits) / 8);
  const top = (1 << bits) - 1;
  const levels = new Int16Array((codes.length / bytes) * dimensions);
  let to = 0;
  for (let from = 0; from < codes.length; from += bytes) {
    for (let d = 0, bit = 0; d < dimensions; d++, bit += bits) {
      levels[to++] = 2 * ((codes[from + (bit >> 3)] >> (bit & 7)) & top) - top;
    }
  }
  return levels;
}
