/* Reads the files of a static bundle. Each file is fetched once, when it is first needed. */

const FORMAT = 2;
const START = 4; // bytes before the first shard of a pack
const GAP = 4000; // bytes between two shards below which one request fetches both

export class Bundle {
  #folder;
  #cache;
  #files = new Map();
  #parts = true;
  #wanted = [];

  constructor(pointer, folder, cache) {
    this.pointer = pointer;
    this.#folder = folder;
    this.#cache = cache;
  }

  /** Reads the only file that changes under its name. Only with "reload", the others are not read from the cache. */
  static async open(root, cache = "no-cache") {
    const url = new URL("semsearch/static.json", root);
    const pointer = await (await get(url, cache)).json();
    if (pointer.format !== FORMAT || !/^static-\w+$/.test(pointer.bundle))
      throw new Error(`${url} has format ${pointer.format}, this page reads format ${FORMAT}: build the site again.`);
    return new Bundle(pointer, new URL(`${pointer.bundle}/`, url), cache === "reload" ? cache : "force-cache");
  }

  /** Returns the result of `make` for the blocks of a file. */
  read(name, make = (blocks) => blocks) {
    if (!this.#files.has(name)) {
      const reading = this.#fetch(name).then(make);
      this.#files.set(name, reading);
      reading.catch(() => this.#files.delete(name)); // the next question tries again
    }
    return this.#files.get(name);
  }

  /** Returns the shard of a kind whose range contains a key. */
  shard(kind, key, make) {
    return this.read(`${kind}/${shardOf(this.pointer.shards[kind], key)}.bin`, make);
  }

  #fetch(name) {
    const [path, begin, end] = this.#place(name);
    const content = async (cache) => {
      const whole = await (await get(new URL(path, this.#folder), cache)).arrayBuffer();
      return begin ? whole.slice(begin, end) : whole;
    };
    const first = begin ? this.#part({ path, begin, end }) : content(this.#cache);
    // The browser's cache would return the damaged content again, so it is left out.
    const again = async (error) => (error.status ? Promise.reject(error) : Blocks.from(await content("reload")));
    return first.then(Blocks.from).catch(again);
  }

  /** Returns a part of a pack. Parts that are needed at the same time and are close together are one request. */
  #part(part) {
    if (!this.#wanted.length) queueMicrotask(() => this.#fetchWanted());
    return new Promise((resolve, reject) => this.#wanted.push({ ...part, resolve, reject }));
  }

  #fetchWanted() {
    const groups = [];
    const parts = this.#wanted.splice(0).map((part, asked) => ({ ...part, asked }));
    for (const part of parts.sort((a, b) => a.path.localeCompare(b.path) || a.begin - b.begin)) {
      const [last] = groups.at(-1)?.slice(-1) ?? [];
      if (last?.path === part.path && part.begin - last.end <= GAP) groups.at(-1).push(part);
      else groups.push([part]);
    }
    // Shards that are needed first are requested first.
    const first = (group) => Math.min(...group.map(({ asked }) => asked));
    for (const group of groups.sort((a, b) => first(a) - first(b))) this.#fetchGroup(group);
  }

  async #fetchGroup(group) {
    const { path, begin } = group[0];
    const url = new URL(path, this.#folder);
    // Browsers load several parts of one URL one after the other, so each part has its own URL.
    if (this.#parts) url.search = begin;
    try {
      const response = await get(url, this.#cache, { Range: `bytes=${begin}-${group.at(-1).end - 1}` });
      const content = await response.arrayBuffer();
      this.#parts = response.status === 206; // some hosts send the whole file
      const start = this.#parts ? begin : 0;
      for (const part of group) part.resolve(content.slice(part.begin - start, part.end - start));
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
  }

  /** Returns the file of a shard, with its first byte and the byte after its last: several shards share one file. */
  #place(name) {
    const [kind, file] = name.split("/");
    let left = parseInt(file);
    if (!(left >= 0)) return [name];
    const packs = this.pointer.packs[kind];
    let pack = 0;
    while (left >= packs[pack].length) left -= packs[pack++].length;
    const begin = packs[pack].slice(0, left).reduce((sum, size) => sum + size, START);
    return [`${kind}/${pack}.bin`, begin, begin + packs[pack][left]];
  }
}

async function get(url, cache, headers) {
  const response = await fetch(url, { cache, headers });
  if (!response.ok) throw Object.assign(new Error(`${url}: ${response.status}`), { status: response.status });
  return response;
}

/** Returns the last shard whose first key is not after `key`, or 0. */
export function shardOf(firsts, key) {
  let low = 0;
  let high = firsts.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (firsts[middle] <= key) low = middle + 1;
    else high = middle;
  }
  return Math.max(0, low - 1);
}

const ARRAYS = {
  u8: Uint8Array,
  u16: Uint16Array,
  u32: Uint32Array,
  f32: Float32Array,
  f64: Float64Array,
};
const decoder = new TextDecoder();

class Blocks {
  #header;
  #buffer;
  #start;

  constructor(buffer) {
    const length = new DataView(buffer).getUint32(0, true);
    this.#header = JSON.parse(decoder.decode(new Uint8Array(buffer, 4, length)));
    this.#buffer = buffer;
    this.#start = 4 + length;
  }

  /** Decompresses a file. Throws an error for a damaged one, which the checksum of gzip reveals. */
  static async from(buffer) {
    const [first, second] = new Uint8Array(buffer, 0, 2);
    if (first !== 0x1f || second !== 0x8b) return new Blocks(buffer); // the browser has decompressed it
    const plain = new Response(buffer).body.pipeThrough(new DecompressionStream("gzip"));
    return new Blocks(await new Response(plain).arrayBuffer());
  }

  /** Returns the block as an array, which is empty if the block is missing. */
  array(name) {
    const [type, offset, length] = this.#header[name] ?? ["u8", 0, 0];
    const Type = ARRAYS[type] ?? Uint8Array; // of texts
    return new Type(this.#buffer, this.#start + offset, length / Type.BYTES_PER_ELEMENT);
  }

  texts(name) {
    const text = this.#text(name);
    return text ? text.split("\n") : [];
  }

  json(name) {
    return JSON.parse(this.#text(name));
  }

  #text(name) {
    return decoder.decode(this.array(name));
  }
}

/** Returns a function that reads the next number: 7 bits a byte, lowest first. */
export function varintReader(bytes) {
  let at = 0;
  return () => {
    let value = 0;
    let unit = 1;
    while (bytes[at] > 0x7f) {
      value += (bytes[at++] & 0x7f) * unit;
      unit *= 128;
    }
    return value + bytes[at++] * unit;
  };
}
