// Runs a program for WASI, such as a test binary: `node wasi.mjs PROGRAM [ARGUMENT...]`.

import { readFileSync } from 'node:fs';
import { WASI } from 'node:wasi';

const args = process.argv.slice(2);
const wasi = new WASI({ version: 'preview1', args, preopens: { '/': '/' }, returnOnExit: true });
const module = await WebAssembly.compile(readFileSync(args[0]));
const instance = await WebAssembly.instantiate(module, wasi.getImportObject());
process.exit(wasi.start(instance));
