// The WebAssembly module and its memory: instances, requests, answers, arrays. This file is independent of workers and
// three.js, and the only one that accesses the memory of an instance.

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Typed arrays by their names in answers. */
const ARRAYS = {
  i8: Int8Array,
  u8: Uint8Array,
  i16: Int16Array,
  u16: Uint16Array,
  i32: Int32Array,
  u32: Uint32Array,
  i64: BigInt64Array,
  u64: BigUint64Array,
  f32: Float32Array,
  f64: Float64Array,
};

/** The count of numbers per corner of each attribute. */
export const ITEM_SIZES = { position: 3, normal: 3, color: 3, uv: 2 };

/** Whether an instance can wait for promises (JavaScript Promise Integration). */
export const canSuspend = typeof globalThis.WebAssembly?.Suspending === 'function';

/** A failure, with its location: the fields of the Rust error, as numbers and strings. */
export class PolyhaulError extends Error {
  constructor({ message, ...details }) {
    const { hint } = details;
    super(hint && !message.includes(hint) ? `${message} (${hint})` : message);
    this.name = 'PolyhaulError';
    Object.assign(this, details);
  }
}

/** Loads a module of Node in a way that bundlers do not detect. */
export function nodeModule(name) {
  return globalThis.process?.getBuiltinModule?.(`node:${name}`);
}

/** Bytes in memory as a file. */
export function bytesFile(bytes) {
  return {
    size: bytes.byteLength,
    read(offset, target) {
      const part = bytes.subarray(offset, offset + target.length);
      target.set(part);
      return part.length;
    },
  };
}

/** A file on disk, in Node. */
export function diskFile({ path, size }) {
  const { closeSync, openSync, readSync } = nodeModule('fs');
  const descriptor = openSync(path);
  return {
    size,
    read: (offset, target) => readSync(descriptor, target, 0, target.length, offset),
    close: () => closeSync(descriptor),
  };
}

/** A blob as a file; only in workers, where reading may block. Reads large parts, because a call is slow. */
export function blobFile(blob) {
  const PART = 4 << 20;
  const reader = new FileReaderSync();
  let begin = 0;
  let part = new Uint8Array(0);
  return {
    size: blob.size,
    read(offset, target) {
      if (offset < begin || offset >= begin + part.length) {
        begin = offset;
        part = new Uint8Array(reader.readAsArrayBuffer(blob.slice(offset, offset + PART)));
      }
      const found = part.subarray(offset - begin, offset - begin + target.length);
      target.set(found);
      return found.length;
    },
  };
}

/** An instance of the module, which runs one job at a time. */
export class Engine {
  /**
   * @param {WebAssembly.Module} module
   * @param {boolean} [suspends] whether it waits for files that are not ready, and returns promises
   */
  constructor(module, suspends = false) {
    this.suspends = suspends;
    this.files = [];
    this.names = new Map();
    this.complaint = '';
    const imports = { polyhaul: this.#files(), wasi_snapshot_preview1: this.#system() };
    this.exports = new WebAssembly.Instance(module, imports).exports;
    this.exports._initialize?.();
  }

  /**
   * Reads a scene. The result describes it like polyhaul's model; arrays are still in the memory of this instance, and
   * the result has their addresses.
   *
   * @param file an object with `size` and `read(offset, target)`, and with `ready(offset)` if reading can wait for it
   * @param {object} options `name`, `format`, `skip`, `precision`, `tables`
   * @param {Map<string, object>} [others] files that the file may refer to, by name
   * @param {(bytes: number) => void} [onProgress]
   */
  read(file, options, others, onProgress) {
    return this.#asked('polyhaul_read', file, options, others, onProgress);
  }

  /** Converts a file to the name in the option `to`. Returns the bytes in parts, and the warnings. */
  async convert(file, options, others, onProgress) {
    this.parts = [];
    const answer = await this.#asked('polyhaul_convert', file, options, others, onProgress);
    return { ...answer, parts: this.parts };
  }

  /** Writes the result of `described` to the name in the option `to`. Returns the bytes in parts, and the warnings. */
  write({ lines, arrays }, options) {
    this.parts = [];
    for (const { array, width } of arrays) this.#give(array, width);
    return { ...this.#asked('polyhaul_write', undefined, { ...options, given: lines }), parts: this.parts };
  }

  #give(array, width) {
    const kind = Object.values(ARRAYS).findIndex(({ name }) => name === array[Symbol.toStringTag]);
    const place = this.exports.polyhaul_array(kind, width, array.length / width) >>> 0;
    if (place === 0) throw new PolyhaulError({ kind: 'memory', message: `cannot allocate ${array.byteLength} bytes` });
    new array.constructor(this.memory, place, array.length).set(array);
  }

  #asked(task, file, options, others = new Map(), onProgress) {
    Object.assign(this, { files: [file], names: others, onProgress, facets: undefined, failure: undefined });
    const given = Object.entries(options).flatMap(([key, values]) => [values].flat().map((value) => [key, value]));
    const lines = given.filter(([, value]) => value != null && value !== false && value !== '');
    // A line break in a name would start another option.
    const text = lines.map(([key, value]) => `${key} ${value === true ? 1 : String(value).replace(/[\r\n]/g, ' ')}\n`).join('');
    this.#ask(text);
    const run = this.exports[task];
    return this.suspends ? this.#awaited(WebAssembly.promising(run)) : this.#answered(this.#call(run));
  }

  async #awaited(run) {
    try {
      return this.#answered(await run());
    } catch (error) {
      throw this.#explained(error);
    }
  }

  /** Stores the request for the next call. */
  #ask(text) {
    const request = encoder.encode(text);
    const place = this.exports.polyhaul_request(request.length);
    this.bytes(place, request.length).set(request);
  }

  /** Returns the answer of the last call, or throws its error. */
  #answered(isDone) {
    const [at, length] = [this.exports.polyhaul_answer(), this.exports.polyhaul_answer_bytes()];
    const answer = JSON.parse(decoder.decode(this.bytes(at, length)));
    if (isDone) return answer;
    const { failure } = this;
    throw new PolyhaulError(failure ? { ...answer, message: `${answer.message}: ${failure.message}` } : answer);
  }

  /** Replaces every address in an answer with a copy of its array. */
  copied(answer) {
    for (const [key, value] of Object.entries(answer)) {
      if (value === null || typeof value !== 'object') continue;
      answer[key] = ARRAYS[value.type] ? this.#array(value) : this.copied(value);
    }
    return answer;
  }

  /**
   * Replaces the arrays of the model in an answer of `read` with the option `drawn` by the corners of its shapes. A
   * file of only positions keeps its arrays.
   */
  drawn({ meshes, objects, ...answer }) {
    const shapes = answer.shapes.map(({ ownCorners, ...shape }, number) => {
      return { ...shape, attributes: this.facets ?? this.corners(shape, number) };
    });
    return { ...answer, shapes, meshes: shapes.length ? [] : this.copied(meshes) };
  }

  /**
   * Adds the vertices, which the other parts need, to an answer of `read` with the option `part`: a part of an OBJ file
   * (see parts.js).
   */
  part({ meshes, objects, shapes, ...answer }) {
    const [{ positions, uvs, normals, colors }] = meshes;
    return { ...answer, vertices: this.copied({ positions, uvs, normals, colors }) };
  }

  /** Joins the part that was read with the others; returns the shapes of the file, for `corners`. */
  join(text, parts) {
    this.#ask(text);
    const at = this.#call(this.exports.polyhaul_join) >>> 0;
    if (at === 0) this.#answered(false);
    const places = new Uint32Array(this.memory, at, 4);
    for (const { before, vertices } of parts) {
      const [positions, uvs, normals] = before;
      const streams = { positions: [positions, 3], uvs: [uvs, 2], normals: [normals, 3], colors: [positions, 4] };
      Object.entries(streams).forEach(([name, [first, width]], stream) => {
        const values = vertices[name];
        if (values) new Float32Array(this.memory, places[stream] + 4 * width * first, values.length).set(values);
      });
    }
    this.#call(this.exports.polyhaul_joined);
    return this.#answered(true).shapes;
  }

  /** The corners of a shape as arrays for a renderer: `position`, and `normal`, `color` and `uv` if it has them. */
  corners(shape, number) {
    const has = { position: true, normal: shape.hasNormals, color: shape.hasColors, uv: shape.hasUvs };
    const attributes = {};
    for (const [name, size] of Object.entries(ITEM_SIZES)) {
      if (has[name]) attributes[name] = new Float32Array(size * shape.corners);
    }
    // Read `memory` only after the call, which may have grown it.
    const at = this.exports.polyhaul_draw(number) >>> 0;
    const [position, normal, color, uv] = new Uint32Array(this.memory, at, 4);
    const blocks = { position, normal, color, uv };
    for (let at = 0, count; (count = this.exports.polyhaul_draw_next() >>> 0) > 0; at += count) {
      for (const [name, target] of Object.entries(attributes)) {
        const size = ITEM_SIZES[name];
        target.set(new Float32Array(this.memory, blocks[name], size * count), size * at);
      }
    }
    return attributes;
  }

  /** Frees the data of the last job. The memory of the instance does not shrink. */
  forget() {
    this.exports.polyhaul_forget();
    Object.assign(this, { files: [], parts: [], names: new Map(), facets: undefined, onProgress: undefined });
  }

  get memory() {
    return this.exports.memory.buffer;
  }

  /** A range of the memory, valid until the memory grows. */
  bytes(at, length) {
    return new Uint8Array(this.memory, at >>> 0, length >>> 0);
  }

  #array({ type, at, length }) {
    return new ARRAYS[type](this.memory, at >>> 0, length).slice();
  }

  #call(run) {
    try {
      return run();
    } catch (error) {
      throw this.#explained(error);
    }
  }

  /** A trap is a bug of polyhaul or out of memory; Rust wrote the reason to its standard error. */
  #explained(error) {
    if (!(error instanceof WebAssembly.RuntimeError)) return error;
    const message = `internal error: ${this.complaint.trim() || error.message}`;
    return new PolyhaulError({ kind: 'internal', message });
  }

  #files() {
    const failed = (error) => {
      // For example, the file was changed or removed.
      this.failure ??= error;
      return -1;
    };
    const read = (file, offset, out, length) => {
      let count;
      try {
        count = this.files[file].read(offset, this.bytes(out, length));
      } catch (error) {
        return failed(error);
      }
      if (file === 0) this.onProgress?.(offset + count);
      return count;
    };
    const readWhenReady = (...what) => {
      const [file, offset] = what;
      return this.files[file].ready?.(offset)?.then(() => read(...what), failed) ?? read(...what);
    };
    return {
      read: this.suspends ? new WebAssembly.Suspending(readWhenReady) : read,
      size: (file) => this.files[file].size,
      power: Math.pow,
      start_facets: (count, hasColors) => {
        const array = () => new Float32Array(9 * count);
        this.facets = { position: array(), normal: array(), ...(hasColors && { color: array() }) };
      },
      facets: (first, count, position, normal, color) => {
        const blocks = { position, normal, color };
        for (const [name, target] of Object.entries(this.facets)) {
          target.set(new Float32Array(this.memory, blocks[name] >>> 0, 9 * count), 9 * first);
        }
      },
      write: (from, length) => this.parts.push(this.bytes(from, length).slice()),
      find: (name, length) => {
        const file = this.names.get(decoder.decode(this.bytes(name, length)));
        return file ? this.files.push(file) - 1 : -1;
      },
    };
  }

  /** The system calls of Rust's standard library: the time, random seeds of hash tables, and standard error. */
  #system() {
    const UNSUPPORTED = 52;
    const view = () => new DataView(this.memory);
    const offered = {
      clock_time_get: (_clock, _precision, out) => {
        view().setBigUint64(out, BigInt(Math.round(performance.now() * 1e6)), true);
        return 0;
      },
      random_get: (out, length) => {
        crypto.getRandomValues(this.bytes(out, length));
        return 0;
      },
      environ_sizes_get: (count, size) => {
        view().setUint32(count, 0, true);
        view().setUint32(size, 0, true);
        return 0;
      },
      fd_write: (_file, parts, count, written) => {
        let sum = 0;
        for (let part = 0; part < count; part++) {
          const at = view().getUint32(parts + 8 * part, true);
          const length = view().getUint32(parts + 8 * part + 4, true);
          this.complaint += decoder.decode(this.bytes(at, length));
          sum += length;
        }
        view().setUint32(written, sum, true);
        return 0;
      },
    };
    return new Proxy(offered, { get: (target, name) => target[name] ?? (() => UNSUPPORTED) });
  }
}
