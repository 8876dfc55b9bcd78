// The package for the browser in Node, beside other loaders: `node tools/bench/web.mjs POLYHAUL FOLDER [ROUNDS
// [FILES]]`.
//
// POLYHAUL is the command, which makes files in FOLDER. Prints rows of a table in Markdown: milliseconds, and the peak
// of the memory of a process that loads the file once. Every loader has a process of its own for each file, which reads
// it into memory first, in every round. The package reads it in one worker, and OBJ also in several; `first` includes
// the start of the worker, and code that is not optimized yet; the others are the minimum of ROUNDS (5) in the same
// process. `cargo xtask web` builds the package first, and installs three.js in target/npm-tests: there, `npm install
// --no-save --legacy-peer-deps three@0.187 @loaders.gl/core @loaders.gl/obj @loaders.gl/ply wwobjloader2` adds others.
// FILES is a pattern of names, such as glb.
//
// The package has no glTF. Rows of it need a module that does, in the package's place: build `polyhaul-wasm` as `cargo
// xtask web` does (RUSTFLAGS="-C target-feature=+simd128", --target wasm32-wasip1 --profile web) with --features gltf,
// and copy it to target/npm/polyhaul.wasm.

import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { closeSync, existsSync, openSync, readFileSync, readSync, readdirSync, statSync, writeSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { fileURLToPath, pathToFileURL } from 'node:url';

const PLACE = new URL('../target/npm-tests/', import.meta.url);

/** Imports a package of the peers' folder. */
const load = (name) => import(import.meta.resolve ? pathToFileURL(createRequire(new URL('x.js', PLACE)).resolve(name)) : name);

const polyhaul = async () => import(new URL('../target/npm/polyhaul.js', import.meta.url));

/** How many workers share an OBJ file: two, and more while there are cores. */
const SHARED_BY = [2, 4, 8].filter((workers) => workers === 2 || workers < availableParallelism());

const inParts = (workers) => async (extension) => {
  if (extension !== 'obj') return undefined;
  const { draw } = await polyhaul();
  return (buffer) => draw(buffer, { format: extension, skip: true, transfer: true, workers });
};

/** Loaders by name: what makes a function that reads bytes, and the formats it knows. */
const LOADERS = {
  'polyhaul, as three.js': async (extension) => {
    if (extension === 'glb') return undefined;
    const { draw, read } = await polyhaul();
    const task = extension === 'ply' ? read : draw;
    return (buffer) => task(buffer, { format: extension, skip: true, transfer: true, workers: 1 });
  },
  ...Object.fromEntries(SHARED_BY.map((workers) => [`polyhaul, ${workers} workers`, inParts(workers)])),
  'polyhaul, arrays alone': async (extension) => {
    if (extension !== 'glb') return undefined;
    const { read } = await polyhaul();
    return (buffer) => read(buffer, { format: 'glb', transfer: true });
  },
  'three.js': async (extension) => {
    if (extension === 'glb') return gltf();
    const kind = `${extension.toUpperCase()}Loader`;
    const module = await load(`three/addons/loaders/${kind}.js`);
    const loader = new module[kind]();
    // Text is decoded as three.js' own file loader does.
    return (buffer) => loader.parse(extension === 'obj' ? new TextDecoder().decode(buffer) : buffer);
  },
  'loaders.gl': async (extension) => {
    if (extension === 'stl' || extension === 'glb') return undefined;
    const kind = `${extension.toUpperCase()}Loader`;
    const [core, module] = await Promise.all([load('@loaders.gl/core'), load(`@loaders.gl/${extension}`)]);
    const parse = core.parse ?? core.default.parse;
    const loader = module[kind] ?? module.default[kind];
    return (buffer) => parse(buffer, loader, { worker: false });
  },
  wwobjloader2: async (extension) => {
    if (extension !== 'obj') return undefined;
    const { OBJLoader2 } = await load('wwobjloader2');
    return (buffer) => new OBJLoader2().parse(buffer);
  },
};

/** three.js' loader of glTF with its decoder of compressed vertices. */
async function gltf() {
  globalThis.self ??= globalThis;
  const [{ GLTFLoader }, { MeshoptDecoder }] = await Promise.all([
    load('three/addons/loaders/GLTFLoader.js'),
    load('three/addons/libs/meshopt_decoder.module.js'),
  ]);
  const loader = new GLTFLoader().setMeshoptDecoder(MeshoptDecoder);
  return (buffer) => loader.parseAsync(buffer, '');
}

/** A file as a buffer of its own, as `fetch` gives it. */
function bufferOf(file) {
  const bytes = new Uint8Array(statSync(file).size);
  const opened = openSync(file);
  for (let at = 0, count; (count = readSync(opened, bytes, at, Math.min(bytes.length - at, 1 << 30), at)) > 0; at += count);
  closeSync(opened);
  return bytes.buffer;
}

if (process.argv[2] === 'run') await run(...process.argv.slice(3));
else main(...process.argv.slice(2));

/** One loader with one file: prints the times and the peak of memory. */
async function run(name, file, rounds) {
  console.log = console.info = () => {};
  const read = await LOADERS[name](file.split('.').pop());
  if (!read) return;
  const times = [];
  for (let round = 0; round < Number(rounds); round++) {
    const bytes = bufferOf(file);
    const begin = performance.now();
    await read(bytes);
    times.push(performance.now() - begin);
  }
  process.stdout.write(JSON.stringify({ times, peak: process.resourceUsage().maxRSS * 1024 }), () => process.exit());
}

function main(command, folder, rounds = '5', pattern = '') {
  if (!folder) {
    console.error('usage: node tools/bench/web.mjs POLYHAUL FOLDER [ROUNDS [FILES]]');
    process.exit(2);
  }
  for (const name of readdirSync(new URL('../target/npm/', import.meta.url)).filter((name) => name.endsWith('.wasm'))) {
    const module = readFileSync(new URL(`../target/npm/${name}`, import.meta.url));
    const [gzip, brotli] = [gzipSync(module, { level: 9 }), brotliCompressSync(module)].map(({ length }) => Math.round(length / 1000));
    console.log(`${name} has ${gzip} kB in gzip, ${brotli} kB in brotli.\n`);
  }
  console.log('| file | loader | first | minimum | peak of memory |\n| --- | --- | ---: | ---: | ---: |');
  for (const file of files(command, folder).filter((file) => file.split('/').pop().match(pattern))) {
    const mb = Math.round(statSync(file).size / 1e6);
    for (const name of Object.keys(LOADERS)) {
      const { stdout, stderr } = ran(name, file, rounds);
      const label = `${file.split('/').pop()}, ${mb} MB`;
      if (stdout) {
        const [first, ...rest] = JSON.parse(stdout).times;
        const least = Math.min(...rest, first);
        // After several rounds it would depend on when garbage is collected.
        const { peak } = JSON.parse(ran(name, file, '1').stdout);
        console.log(`| ${label} | ${name} | ${first.toFixed(0)} ms | ${least.toFixed(0)} ms | ${(peak / 1e6).toFixed(0)} MB |`);
      } else if (stderr) {
        const why = /^(\w*Error.*)$/m.exec(stderr)?.[1] ?? stderr.trim().split('\n').pop();
        console.log(`| ${label} | ${name} | fails: ${why} | | |`);
      }
    }
  }
}

/** A loader in a process of its own. */
function ran(name, file, rounds) {
  // A garbage-collected heap of the usual size ends before some of these files do.
  const args = ['--max-old-space-size=12000', fileURLToPath(import.meta.url), 'run', name, file, rounds];
  return spawnSync('node', args, { maxBuffer: 1 << 24, encoding: 'utf8' });
}

/** The files of the table, made if they are not there. */
function files(command, folder) {
  const [small, large] = [[560, 'a.obj'], [1200, 'b.obj']].map(([side, name]) => grid(`${folder}/${name}`, side));
  const made = [small, large];
  const others = [['binary.ply'], ['text.ply', '--ascii'], ['a.stl'], ['plain.glb'], ['meshopt.glb', '--meshopt']];
  for (const [name, ...options] of others) {
    const target = `${folder}/${name}`;
    if (!existsSync(target)) spawnSync(command, ['convert', large, target, ...options], { stdio: 'inherit' });
    made.push(target);
  }
  return made;
}

/** A bumpy grid with uvs and normals, of triangles in two materials. */
function grid(file, side) {
  if (existsSync(file)) return file;
  let state = 1;
  const random = () => (state = (state * 48271) % 2147483647) / 2147483647;
  const out = openSync(file, 'w');
  const each = (count, row) => {
    for (let at = 0; at < count; at += 1 << 16) {
      const rows = Array.from({ length: Math.min(1 << 16, count - at) }, (_, i) => row(at + i));
      writeSync(out, rows.join(''));
    }
  };
  const count = side * side;
  const [x, y] = [(at) => (at % side) / side, (at) => Math.floor(at / side) / side];
  writeSync(out, 'o grid\nusemtl red\n');
  each(count, (at) => `v ${x(at).toFixed(6)} ${y(at).toFixed(6)} ${random().toFixed(6)}\n`);
  each(count, (at) => `vt ${x(at).toFixed(6)} ${y(at).toFixed(6)}\n`);
  each(count, () => `vn ${random().toFixed(4)} ${random().toFixed(4)} 0.5000\n`);
  const corner = (at) => `${at + 1}/${at + 1}/${at + 1}`;
  each((side - 1) * (side - 1), (quad) => {
    const at = Math.floor(quad / (side - 1)) * side + (quad % (side - 1));
    const [a, b, c, d] = [at, at + 1, at + side + 1, at + side].map(corner);
    return `${quad === count >> 1 ? 'usemtl blue\n' : ''}f ${a} ${b} ${c}\nf ${a} ${c} ${d}\n`;
  });
  closeSync(out);
  return file;
}
