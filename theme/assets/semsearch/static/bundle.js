/* The files of a static bundle: each is fetched when something in it is first asked for, and once. */

const FORMAT = 2;
const START = 4; // bytes before the first shard of a pack

export class Bundle {
  #folder;
  #files = new Map();
  #parts = true;

  constructor(pointer, folder) {
    this.pointer = pointer;
    this.#folder = folder;
  }

  /** Reads the only file that changes under its name. */
  static async open(root, cache = "no-cache") {
    const url = new URL("semsearch/static.json", root);
    const pointer = await (await get(url, cache)).json();
    if (pointer.format !== FORMAT || !/^static-\w+$/.test(pointer.bundle))
      throw new Error(`${url} has format ${pointer.format}, this page reads format ${FORMAT}: build the site again.`);
    return new Bundle(pointer, new URL(`${pointer.bundle}/`, url));
  }

  /** A file as whatever `make` makes of its blocks. */
  read(name, make = (blocks) => blocks) {
    if (!this.#files.has(name)) {
      const reading = this.#fetch(name).then(make);
      this.#files.set(name, reading);
      reading.catch(() => this.#files.delete(name)); // the next question may have more luck
    }
    return this.#files.get(name);
  }

  /** The shard of a kind in whose range a key stands. */
  shard(kind, key, make) {
    return this.read(`${kind}/${shardOf(this.pointer.shards[kind], key)}.bin`, make);
  }

  #fetch(name) {
    const [path, begin, end] = this.#place(name);
    const url = new URL(path, this.#folder);
    // Parts of one address wait for each other.
    if (begin && this.#parts) url.search = begin;
    const blocks = async (cache, headers) => {
      const response = await get(url, cache, headers);
      const content = await response.arrayBuffer();
      // Some hosts send the whole file.
      if (headers) this.#parts = response.status === 206;
      return Blocks.from(begin && response.status !== 206 ? content.slice(begin, end) : content);
    };
    const part = begin && { Range: `bytes=${begin}-${end - 1}` };
    // What was damaged on its way would come out of the browser's cache again.
    return blocks("force-cache", part).catch((error) => (error.status ? Promise.reject(error) : blocks("reload")));
  }

  /** Shards lie one behind the other in packs. */
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

/** The last whose first key is not behind `key`; 0 where there is none. */
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
  i8: Int8Array,
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

  /** Decompresses and opens a file. A damaged one throws: gzip carries a checksum. */
  static async from(buffer) {
    const [first, second] = new Uint8Array(buffer, 0, 2);
    if (first !== 0x1f || second !== 0x8b) return new Blocks(buffer); // the host said what it is, so it is unpacked
    const plain = new Response(buffer).body.pipeThrough(new DecompressionStream("gzip"));
    return new Blocks(await new Response(plain).arrayBuffer());
  }

  /** Empty where the block is missing. */
  array(name) {
    const [type, offset, length] = this.#header[name] ?? ["u8", 0, 0];
    const Type = ARRAYS[type];
    return new Type(this.#buffer, this.#start + offset, length / Type.BYTES_PER_ELEMENT);
  }

  texts(name) {
    const text = this.#text(name);
    return text ? text.split("\n") : [];
  }

  /** Null where the block is missing. */
  json(name) {
    return JSON.parse(this.#text(name) || "null");
  }

  #text(name) {
    const [, offset, length] = this.#header[name] ?? ["", 0, 0];
    return decoder.decode(new Uint8Array(this.#buffer, this.#start + offset, length));
  }
}

/** Reads whole numbers of 7 bits a byte, lowest first, one by one. */
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
