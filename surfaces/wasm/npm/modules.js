// The WebAssembly modules, each loaded on first use. The files that use a module contain its address as
// `new URL('./….wasm', import.meta.url)`: bundlers look for such expressions, and copy the files that they name.

import { nodeModule } from './engine.js';
import { found } from './remote.js';

/** Modules by address: those being compiled, and those already compiled. */
const compiling = new Map();
const compiled = new Map();

/** In development, Vite before version 8 moves scripts to this folder, but not the files they name (`optimizeDeps`). */
const MOVED = '/.vite/deps/';
export const isMoved = (url) => String(url).includes(MOVED);

/** The address of a module: in the package, even if the script was moved. URLs of Turbopack are relative. */
export const placeOf = (url) => new URL(String(url).replace(MOVED, '/polyhaul/'), globalThis.location?.href);

/** Loads and compiles a module once; after a failure, the next call tries again. */
export async function load(address) {
  const url = placeOf(address);
  const { href } = url;
  if (!compiled.has(href)) {
    if (!compiling.has(href)) compiling.set(href, compile(url).finally(() => compiling.delete(href)));
    compiled.set(href, await compiling.get(href));
  }
  return compiled.get(href);
}

/** Like `load`, for calls that cannot wait: blocks the page until the file is loaded. */
export function loadNow(address) {
  const url = placeOf(address);
  const { href } = url;
  const { Module } = assembly();
  if (!compiled.has(href)) compiled.set(href, new Module(bytesNow(url)));
  return compiled.get(href);
}

/** Compiles a module; in a browser, while it is downloaded. */
async function compile(url) {
  const { compile, compileStreaming } = assembly();
  const disk = diskOf(url);
  if (disk) return compile(await disk.promises.readFile(url));
  const response = await found(url).catch(({ message }) => {
    throw misplaced(message);
  });
  const type = response.headers.get('content-type');
  if (isPage(type)) throw misplaced(pageFor(url));
  // Servers without the media type of WebAssembly send another one, which cannot be compiled while it is downloaded.
  const isStreamed = type === 'application/wasm' && compileStreaming;
  return isStreamed ? compileStreaming(response) : compile(await response.arrayBuffer());
}

function assembly() {
  if (!globalThis.WebAssembly) throw new Error('polyhaul: this browser does not support WebAssembly, or disables it');
  return WebAssembly;
}

/** The file system of Node if the address is a file on disk. */
const diskOf = ({ protocol }) => (protocol === 'file:' ? nodeModule('fs') : undefined);

function bytesNow(url) {
  const disk = diskOf(url);
  if (disk) return disk.readFileSync(url);
  const request = new XMLHttpRequest();
  request.open('GET', url, false);
  // Synchronous requests of pages return only text. In this encoding, the low byte of each character is a byte of the
  // file.
  request.overrideMimeType('text/plain; charset=x-user-defined');
  request.send();
  if (request.status >= 400) throw misplaced(`polyhaul: cannot load ${url}: ${request.status}`);
  if (isPage(request.getResponseHeader('content-type'))) throw misplaced(pageFor(url));
  const text = request.responseText;
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < bytes.length; at++) bytes[at] = text.charCodeAt(at);
  return bytes;
}

/** Development servers answer a wrong address with a page and status 200. */
const isPage = (type) => type?.startsWith('text/html');
const pageFor = (url) => `polyhaul: the server sent an HTML page for ${url}`;

function misplaced(why) {
  return new Error(`${why}; is the module where the page expects it? See "Bundlers" in the readme of polyhaul`);
}
