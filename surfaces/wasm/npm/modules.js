// The WebAssembly modules, each loaded when it is needed first. The files that use one have its address as
// `new URL('./….wasm', import.meta.url)`: bundlers look for such expressions, and copy what they name.

import { nodeModule } from './engine.js';
import { found } from './remote.js';

/** By address: modules that are being compiled, and those that are. */
const compiling = new Map();
const compiled = new Map();

/** In development, Vite before version 8 moves scripts there, but not the files they name (`optimizeDeps`). */
const MOVED = '/.vite/deps/';
export const isMoved = (url) => String(url).includes(MOVED);

/** Where a module is: in the package, if it was not moved along. URLs of Turbopack are relative. */
export const placeOf = (url) => new URL(String(url).replace(MOVED, '/polyhaul/'), globalThis.location?.href);

/** Loads and compiles a module once; what failed is tried again by the next call. */
export async function load(address) {
  const url = placeOf(address);
  const { href } = url;
  if (!compiled.has(href)) {
    if (!compiling.has(href)) compiling.set(href, compile(url).finally(() => compiling.delete(href)));
    compiled.set(href, await compiling.get(href));
  }
  return compiled.get(href);
}

/** The same at once, for calls that cannot wait: a page is blocked until the file has come. */
export function loadNow(address) {
  const url = placeOf(address);
  const { href } = url;
  const { Module } = assembly();
  if (!compiled.has(href)) compiled.set(href, new Module(bytesNow(url)));
  return compiled.get(href);
}

/** Compiles a module. In a browser it is compiled while it arrives. */
async function compile(url) {
  const { compile, compileStreaming } = assembly();
  const disk = diskOf(url);
  if (disk) return compile(await disk.promises.readFile(url));
  const response = await found(url).catch(({ message }) => {
    throw misplaced(message);
  });
  const type = response.headers.get('content-type');
  if (isPage(type)) throw misplaced(pageFor(url));
  // Servers that do not know WebAssembly send it as something else, which is not compiled on the way.
  const isStreamed = type === 'application/wasm' && compileStreaming;
  return isStreamed ? compileStreaming(response) : compile(await response.arrayBuffer());
}

function assembly() {
  if (!globalThis.WebAssembly) throw new Error('polyhaul: this browser does not support WebAssembly, or disables it');
  return WebAssembly;
}

/** Node's files, for an address of one. */
const diskOf = ({ protocol }) => (protocol === 'file:' ? nodeModule('fs') : undefined);

function bytesNow(url) {
  const disk = diskOf(url);
  if (disk) return disk.readFileSync(url);
  const request = new XMLHttpRequest();
  request.open('GET', url, false);
  // Pages get only text at once. In this encoding, the low byte of each character is a byte of the file.
  request.overrideMimeType('text/plain; charset=x-user-defined');
  request.send();
  if (request.status >= 400) throw misplaced(`polyhaul: cannot load ${url}: ${request.status}`);
  if (isPage(request.getResponseHeader('content-type'))) throw misplaced(pageFor(url));
  const text = request.responseText;
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < bytes.length; at++) bytes[at] = text.charCodeAt(at);
  return bytes;
}

/** Servers for development answer a wrong address with a page and status 200. */
const isPage = (type) => type?.startsWith('text/html');
const pageFor = (url) => `polyhaul: the server sent an HTML page for ${url}`;

function misplaced(why) {
  return new Error(`${why}; is the module where the page expects it? See "Bundlers" in the readme of polyhaul`);
}
