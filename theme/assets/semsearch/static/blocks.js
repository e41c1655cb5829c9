/* Block files: named typed arrays and texts in one compressed file; see the reference of the index format. */

const ARRAYS = {
  u8: Uint8Array,
  u16: Uint16Array,
  u32: Uint32Array,
  i8: Int8Array,
  f32: Float32Array,
  f64: Float64Array,
};
const decoder = new TextDecoder();

export class Blocks {
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
    const { writable, readable } = new DecompressionStream("gzip");
    const writer = writable.getWriter();
    // What fails here fails on the readable side too.
    writer.write(buffer).catch(() => {});
    writer.close().catch(() => {});
    return new Blocks(await new Response(readable).arrayBuffer());
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
