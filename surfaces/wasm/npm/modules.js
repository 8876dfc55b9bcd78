// The WebAssembly modules, each loaded when it is needed first. The files that use one have its address as
// `new URL('./….wasm', import.meta.url)`: bundlers look for such expressions, and copy what they name.

import { nodeModule } from './engine.js';
import { found } from './remote.js';

/** By address: modules that are being compiled, and those that are. */
const compiling = new Map();
const compiled = new Map();

/** Loads and compiles a module once; what failed is tried again by the next call. */
export async function load(url) {
  const { href } = url;
  if (!compiled.has(href)) {
    if (!compiling.has(href)) compiling.set(href, compile(url).finally(() => compiling.delete(href)));
    compiled.set(href, await compiling.get(href));
  }
  return compiled.get(href);
}

/** The same at once, for calls that cannot wait: a page is blocked until the file has come. */
export function loadNow(url) {
  const { href } = url;
  if (!compiled.has(href)) compiled.set(href, new WebAssembly.Module(bytesNow(url)));
  return compiled.get(href);
}

/** Compiles a module. In a browser it is compiled while it arrives. */
async function compile(url) {
  if (!globalThis.WebAssembly) throw new Error('polyhaul: this browser has no WebAssembly, or it is switched off');
  const disk = diskOf(url);
  if (disk) return WebAssembly.compile(await disk.promises.readFile(url));
  const response = await found(url);
  const type = response.headers.get('content-type') ?? '';
  if (type.startsWith('text/html')) throw misplaced(url);
  // Servers that do not know WebAssembly send it as something else, which is not compiled on the way.
  return type === 'application/wasm' && WebAssembly.compileStreaming
    ? WebAssembly.compileStreaming(response)
    : WebAssembly.compile(await response.arrayBuffer());
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
  if (request.status !== 200) throw misplaced(url);
  const text = request.responseText;
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < bytes.length; at++) bytes[at] = text.charCodeAt(at);
  return bytes;
}

function misplaced(url) {
  return new Error(`polyhaul: cannot load ${url}: it is not there; see "Bundlers" in the readme of the package`);
}
