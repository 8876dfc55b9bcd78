// Files at URLs. A large file is read in ranges if its server supports them and the engine can wait for them: reading
// starts with the first range, and only a few are in memory. Other files are loaded as a whole.

import { nodeModule } from './engine.js';

const RANGE_BYTES = 16 << 20;
/** Files of fewer ranges are loaded as a whole: servers often compress small files, and then do not support ranges. */
const LEAST_RANGES = 4;
/** The number of concurrent range requests, so that the connection is busy while the engine works. */
const RANGES_AT_A_TIME = 3;
const TRIES = 3;

/**
 * Opens a URL for a worker: as a blob, a buffer, or a file in ranges. Also returns the memory to transfer.
 *
 * @param {string | URL} url
 * @param {AbortSignal} [signal]
 * @param {number} [rangeBytes] the size of a range; 0 disables ranges
 */
export async function remote(url, signal, rangeBytes = RANGE_BYTES) {
  const response = await found(url, signal);
  if (!isInRanges(response, rangeBytes)) return whole(response);
  response.body?.cancel().catch(() => {});
  const file = { url: response.url, rangeBytes };
  try {
    file.first = await loaded(file, 0, rangeBytes, signal);
  } catch {
    // For example, the server hides the header `Content-Range` from other origins.
    return whole(await found(url, signal));
  }
  return { file, moved: [file.first] };
}

/** Like `remote`, for a file on disk; returns nothing for other addresses. */
export async function disk(source) {
  const path = pathOf(source);
  if (path === undefined) return undefined;
  const { size } = await nodeModule('fs').promises.stat(path).catch((error) => {
    throw unreachable(source, error);
  });
  return { file: { path, size } };
}

/** The path of a file on disk, in Node, from a `file:` URL or a path. */
function pathOf(source) {
  if (typeof Worker !== 'undefined') return undefined;
  if (String(source).startsWith('file:')) return nodeModule('url').fileURLToPath(source);
  // If the program has a location, addresses are relative to it. A single letter is a drive on Windows.
  return globalThis.location || /^[a-z][a-z\d+.-]+:/i.test(source) ? undefined : source;
}

/** Loads all bytes of an address. */
export async function bytesOf(source) {
  const path = pathOf(source);
  if (path === undefined) return (await found(source)).arrayBuffer();
  return nodeModule('fs').promises.readFile(path).catch((error) => {
    throw unreachable(source, error);
  });
}

/** Sends a request; fails unless it succeeds. */
export async function found(url, signal) {
  const response = await fetch(url, { signal }).catch((error) => {
    throw signal?.aborted ? error : unreachable(url, error);
  });
  if (!response.ok) throw new Error(`polyhaul: cannot load ${url}: ${response.status} ${response.statusText}`.trim());
  return response;
}

/** Creates an error with the address and the reason, which the error of `fetch` may lack. */
function unreachable(url, error) {
  const why = error.cause?.message || error.cause?.code || error.message;
  const { location } = globalThis;
  const isForeign = location && /^https?:/i.test(url) && !String(url).startsWith(`${location.origin}/`);
  const hint = isForeign ? '; does its server allow other origins (Access-Control-Allow-Origin)?' : '';
  return new Error(`polyhaul: cannot load ${url}: ${why}${hint}`, { cause: error });
}

async function whole(response) {
  // Node's workers cannot wait for the parts of a blob.
  if (typeof Worker !== 'undefined') return { file: await response.blob() };
  const file = await response.arrayBuffer();
  return { file, moved: [file] };
}

function isInRanges({ url, headers }, rangeBytes) {
  const isPlain = !headers.get('content-encoding') && headers.get('accept-ranges') === 'bytes';
  const bytes = Number(headers.get('content-length'));
  return rangeBytes > 0 && isPlain && /^https?:/.test(url) && bytes >= LEAST_RANGES * rangeBytes;
}

/** In a worker, a file in ranges for an engine that waits until the file is `ready`. */
export class RangeFile {
  #file;
  #parts = new Map();
  #leave = new AbortController();
  #bytes = new Uint8Array(0);
  #begin = 0;

  constructor(file) {
    this.#file = file;
    this.#parts.set(0, Promise.resolve(file.first));
  }

  get size() {
    return this.#file.size;
  }

  /** Returns a promise for the bytes from `offset`, or nothing if they can be read already. */
  ready(offset) {
    const { size, rangeBytes } = this.#file;
    if (offset >= size || (offset >= this.#begin && offset < this.#begin + this.#bytes.length)) return undefined;
    const begin = offset - (offset % rangeBytes);
    const end = Math.min(begin + RANGES_AT_A_TIME * rangeBytes, size);
    for (let next = begin; next < end; next += rangeBytes) {
      if (!this.#parts.has(next)) this.#parts.set(next, this.#load(next));
    }
    return this.#parts.get(begin).then((buffer) => {
      for (const other of this.#parts.keys()) if (other <= begin || other >= end) this.#parts.delete(other);
      [this.#begin, this.#bytes] = [begin, new Uint8Array(buffer)];
    });
  }

  read(offset, target) {
    const at = offset - this.#begin;
    const found = offset < this.size ? this.#bytes.subarray(at, at + target.length) : [];
    target.set(found);
    return found.length;
  }

  /** Aborts the requests of ranges that were loaded ahead. */
  close() {
    this.#leave.abort();
  }

  #load(begin) {
    const { size, rangeBytes } = this.#file;
    const part = loaded(this.#file, begin, Math.min(begin + rangeBytes, size), this.#leave.signal);
    // A failure is reported when the engine reads this range, if at all.
    part.catch(() => {});
    return part;
  }
}

/** Loads a range; tries again if the connection fails. */
async function loaded(file, begin, end, signal) {
  for (let tries = 1; ; tries++) {
    let response, bytes;
    try {
      // Without a cache, which could have ranges of an older file, and which allows only one reader per entry.
      response = await fetch(file.url, { headers: { range: `bytes=${begin}-${end - 1}` }, cache: 'no-store', signal });
      if (response.status === 206) bytes = await response.arrayBuffer();
    } catch (error) {
      if (signal?.aborted) throw error;
      if (tries === TRIES) throw failed(begin, end, 'the connection failed');
      continue;
    }
    // The response may be the whole file.
    if (!bytes) response.body?.cancel().catch(() => {});
    return checked(file, begin, end, response, bytes);
  }
}

/** Returns the bytes of a response, if they are the requested range of the same file as before. */
function checked(file, begin, end, { status, headers }, bytes) {
  if (!bytes) throw failed(begin, end, `the server answered with status ${status}`);
  const range = headers.get('content-range') ?? '';
  const [from, to, size] = (/^bytes (\d+)-(\d+)\/(\d+)$/.exec(range) ?? []).slice(1).map(Number);
  const version = headers.get('etag') ?? headers.get('last-modified') ?? '';
  file.size ??= size;
  file.version ??= version;
  if (size !== undefined && (size !== file.size || version !== file.version)) {
    throw failed(begin, end, 'the file changed on the server during the download');
  }
  if (from !== begin || to !== end - 1 || bytes.byteLength !== end - begin) {
    throw failed(begin, end, `the server sent ${bytes.byteLength} bytes as \`${range}\``);
  }
  return bytes;
}

function failed(begin, end, why) {
  return new Error(`bytes ${begin} to ${end} cannot be loaded: ${why}`);
}
