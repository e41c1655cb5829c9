/* The files of a static bundle: each is fetched when something in it is first asked for, and once. */

import { Blocks } from "./blocks.js";

const FORMAT = 1;

export class Bundle {
  #folder;
  #files = new Map();

  constructor(pointer, folder) {
    this.pointer = pointer;
    this.#folder = folder;
  }

  /** Reads `semsearch/static.json` under the site's root, the only file that changes under its name. */
  static async open(root) {
    const url = new URL("semsearch/static.json", root);
    const pointer = await (await get(url, "no-cache")).json();
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
    const url = new URL(name, this.#folder);
    const blocks = async (cache) => Blocks.from(await (await get(url, cache)).arrayBuffer());
    // What was damaged on its way would come out of the browser's cache again.
    return blocks("force-cache").catch((error) => (error.status ? Promise.reject(error) : blocks("reload")));
  }
}

async function get(url, cache) {
  const response = await fetch(url, { cache });
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
