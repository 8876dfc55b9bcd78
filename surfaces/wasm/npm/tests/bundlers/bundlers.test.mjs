// The package as npm installs it, in fresh projects: each bundler makes page.js, and a headless Chromium opens the
// result. Then Node and TypeScript alone. Skipped where there is no browser.

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const HERE = dirname(fileURLToPath(import.meta.url));
const [PACKED] = readdirSync('packed').map((name) => resolve('packed', name));
const PATHS = [process.env.CHROME, '/usr/bin/chromium', '/usr/bin/google-chrome'];
const executablePath = PATHS.find((path) => path && existsSync(path));
const ARGS = ['--no-sandbox', '--disable-quic', '--no-first-run', '--disable-background-networking'];
const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.wasm': 'application/wasm', '.css': 'text/css' };
const CUBE = `${['-1 -1 -1', '1 -1 -1', '1 1 -1', '-1 1 -1', '-1 -1 1', '1 -1 1', '1 1 1', '-1 1 1'].map((it) => `v ${it}\n`).join('')}
f 4 3 2 1\nf 5 6 7 8\nf 1 2 6 5\nf 3 4 8 7\nf 2 3 7 6\nf 1 5 8 4\n`;
const PAGE = '<!doctype html><html><body><script type="module" src="./page.js"></script></body></html>\n';
const COPY = 'cp node_modules/polyhaul/worker.js node_modules/polyhaul/*.wasm dist/';

const vite = (folder) => `node ${resolve('node_modules', folder, 'bin/vite.js')}`;
const versionOf = (folder) => JSON.parse(readFileSync(join('node_modules', folder, 'package.json'))).version;

/** How each bundler is set up and called, as the readme says. */
const BUNDLERS = {
  vite: { build: [`${vite('vite')} build --base=./`], dev: (port) => `${vite('vite')} --strictPort --port ${port}` },
  // The last one that bundles dependencies by esbuild in development.
  'vite-7': {
    build: [`${vite('vite-7')} build --base=/vite-7/dist/`],
    dev: (port) => `${vite('vite-7')} --strictPort --port ${port}`,
  },
  webpack: {
    files: {
      'webpack.config.js': `export default { entry: './page.js', output: { filename: '[name]-[contenthash].js' } };`,
    },
    build: ['webpack --mode production'],
    dev: (port) => `webpack serve --mode development --static . --output-filename page.js --port ${port}`,
  },
  esbuild: {
    build: ['esbuild page.js --bundle --format=esm --splitting --minify --outdir=dist --entry-names=[name]-[hash]', COPY],
  },
  'esbuild in one file': { build: ['esbuild page.js --bundle --outdir=dist --define:import.meta.url=document.baseURI', COPY] },
  rollup: {
    files: {
      'rollup.config.js': `import resolve from '@rollup/plugin-node-resolve';
export default { input: 'page.js', output: { dir: 'dist', entryFileNames: '[name]-[hash].js' }, plugins: [resolve()] };`,
    },
    build: ['rollup --config --silent', COPY],
  },
  'rollup with assets': {
    files: {
      'rollup.config.js': `import resolve from '@rollup/plugin-node-resolve';
import { importMetaAssets } from '@web/rollup-plugin-import-meta-assets';
export default { input: 'page.js', output: { dir: 'dist' }, plugins: [resolve(), importMetaAssets()] };`,
    },
    build: ['rollup --config --silent'],
  },
  parcel: {
    files: { 'package.json': JSON.stringify({ '@parcel/resolver-default': { packageExports: true } }) },
    build: ['parcel build index.html --public-url ./ --no-cache'],
    dev: (port) => `parcel index.html --no-cache --port ${port}`,
  },
  next: {
    files: {
      'next.config.js': `export default { output: 'export', distDir: 'dist', basePath: '/next/dist',
  turbopack: { root: new URL('../..', import.meta.url).pathname } };`,
      'app/layout.jsx': 'export default ({ children }) => <html><body>{children}</body></html>;',
      'app/page.jsx': `'use client';
import { useEffect } from 'react';
import { OBJLoader } from 'polyhaul/obj';
const loader = new OBJLoader();
export default function Page() {
  useEffect(() => {
    import('../page.js');
    return () => loader.abort();
  }, []);
  return null;
}`,
    },
    build: ['next build'],
    dev: (port) => `next dev --port ${port}`,
    page: 'next/dist',
  },
};

/** What the page tells. */
function expected(models) {
  const [obj, reading, converting] = ['-obj', '', '-convert'].map((kind) => sizeOf(`polyhaul${kind}.wasm`));
  return {
    'parse at once': 3,
    loader: 36,
    'mounted twice': [true, 36, 36],
    'no file': /404/,
    'a page for a file': /the content looks like a web page/,
    'modules of one format': [obj],
    read: [8, 1],
    'in parts': 6_300_000,
    'other errors': [
      new RegExp(`cannot load ${models}missing.obj: 404`),
      /the content looks like a web page/,
      /cannot load .*closed.obj: .*Access-Control-Allow-Origin/,
      /cannot load http:\/\/127.0.0.1:1\/a.obj: /,
      'given up',
    ],
    'modules that read': [obj, reading],
    convert: 36,
    export: [12, 12],
    gltf: 'function',
    'all modules': [obj, reading, converting],
  };
}

let models, server, browser;

before(async () => {
  rmSync('projects', { recursive: true, force: true });
  models = await listening(({ url }, response) => {
    const open = { 'access-control-allow-origin': '*', 'timing-allow-origin': '*' };
    if (url === '/cube.obj') response.writeHead(200, open).end(CUBE);
    else if (url === '/page.obj') response.writeHead(200, { ...open, 'content-type': 'text/html' }).end(PAGE);
    else if (url === '/closed.obj') response.writeHead(200).end(CUBE);
    else fileFrom('projects', url, response, open);
  });
  // As strict as a page with workers and WebAssembly may be.
  const scripts = `script-src 'self' 'unsafe-inline' 'wasm-unsafe-eval'`;
  const policy = { 'content-security-policy': `default-src 'self'; ${scripts}; connect-src 'self' blob: http://127.0.0.1:*` };
  server = await listening(({ url }, response) => fileFrom('projects', url, response, url.startsWith('/cdn') ? {} : policy));
  if (!executablePath) return;
  const { chromium } = await import('playwright-core');
  browser = await chromium.launch({ executablePath, args: ARGS });
});

after(async () => {
  await browser?.close();
  rmSync('projects', { recursive: true, force: true });
  models.close();
  server.close();
});

async function listening(answer) {
  const server = createServer(answer);
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

function fileFrom(folder, url, response, headers) {
  const file = join(folder, decodeURI(new URL(url, 'http://x').pathname));
  if (!existsSync(file) || statSync(file).isDirectory()) {
    // As servers for development do.
    const status = url.startsWith('/app/') ? 200 : 404;
    return response.writeHead(status, { ...headers, 'content-type': 'text/html' }).end(PAGE);
  }
  response.writeHead(200, { ...headers, 'content-type': TYPES[extname(file)] ?? 'text/plain' }).end(readFileSync(file));
}

const address = (server) => `http://127.0.0.1:${server.address().port}/`;

async function freePort() {
  const server = await listening(() => {});
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

const sizeOf = (name) => statSync(join(installed, 'node_modules/polyhaul', name)).size;

const inChromium = { skip: !executablePath && 'there is no Chromium' };

for (const [name, { files, build, dev, page = '' }] of Object.entries(BUNDLERS)) {
  const title = `${name} (${versionOf(name.split(' ')[0])})`;
  test(`${title}: build and run below a path`, inChromium, async () => {
    const folder = project(name, files);
    for (const command of build) shell(command, folder);
    const dist = join(folder, 'dist');
    if (!existsSync(join(dist, 'index.html'))) {
      const script = readdirSync(dist).find((name) => /^(page|main).*\.js$/.test(name));
      writeFileSync(join(dist, 'index.html'), PAGE.replace('page.js', script));
    }
    await check(`${address(server)}${encodeURIComponent(basename(folder))}/dist/index.html`);
  });
  if (!dev) continue;
  test(`${title}: server for development`, inChromium, async () => {
    const folder = project(name, files);
    const port = await freePort();
    const process = spawn('sh', ['-c', `exec ${dev(port)}`], { ...placed(folder), detached: true, stdio: 'ignore' });
    try {
      const url = `http://localhost:${port}/${page}`;
      const end = Date.now() + 60_000;
      while (!(await fetch(url).catch(() => ({}))).ok) {
        assert.ok(process.exitCode === null && Date.now() < end, 'the server does not answer');
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
      await check(url);
    } finally {
      globalThis.process.kill(-process.pid);
    }
  });
}

test('import map: run from a server of another origin', inChromium, async () => {
  const modules = `${address(models)}cdn/node_modules/`;
  const { exports } = JSON.parse(readFileSync(join(project('cdn'), 'node_modules/polyhaul/package.json')));
  const addressOf = (file) => `${modules}polyhaul/${file.default ?? file}`;
  const own = Object.entries(exports).map(([name, file]) => [name.replace('.', 'polyhaul'), addressOf(file)]);
  const three = { three: `${modules}three/build/three.module.js`, 'three/addons/': `${modules}three/examples/jsm/` };
  const map = JSON.stringify({ imports: { ...three, ...Object.fromEntries(own) } });
  written('cdn', { 'index.html': PAGE.replace('<body>', `<body><script type="importmap">${map}</script>`) });
  await check(`${address(server)}cdn/index.html`);
});

test('bundles on a server of another origin', inChromium, async () => {
  for (const [name, option] of [['vite', '--base'], ['webpack', '--output-public-path']]) {
    const { build, files } = BUNDLERS[name];
    const folder = project(`cdn-${name}`, files);
    const base = `${address(models)}cdn-${name}/dist/`;
    shell(`${build[0].replace('--base=./', '')} ${option} ${base}`, folder);
    const page = join(folder, 'dist/index.html');
    const script = readdirSync(join(folder, 'dist')).find((name) => name.startsWith('main'));
    if (script) writeFileSync(page, PAGE.replace('./page.js', base + script));
    await check(`${address(server)}cdn-${name}/dist/index.html`);
  }
});

/** What browsers lack that are older, or locked down. */
const LACKS = {
  'newer functions': () => {
    for (const name of ['compileStreaming', 'Suspending', 'promising']) delete WebAssembly[name];
    delete AbortSignal.any;
    delete Navigator.prototype.hardwareConcurrency;
  },
  WebAssembly: () => delete globalThis.WebAssembly,
};

test('browsers with less, and files that are missing', inChromium, async () => {
  const folder = project('less');
  const [bundle] = BUNDLERS['esbuild in one file'].build;
  const url = `${address(server)}less/dist/index.html`;
  shell(bundle, folder);
  writeFileSync(join(folder, 'dist/index.html'), PAGE);
  const missing = /cannot load .*polyhaul-obj.wasm: 404.* See "Bundlers" in the readme of polyhaul/;
  await check(url, { 'parse at once': missing, loader: missing });
  cpSync(folder, resolve('projects/app'), { recursive: true });
  const page = /the server sent an HTML page for .*polyhaul-obj.wasm; .* See "Bundlers"/;
  await check(url.replace('/less/', '/app/'), { 'parse at once': page, loader: page });
  shell('cp node_modules/polyhaul/*.wasm dist/', folder);
  await check(url, { 'parse at once': 3, loader: /the worker cannot start: .*readme/, read: /the worker cannot start/ });
  shell(COPY, folder);
  await check(url, expected(address(models)), LACKS['newer functions']);
  const none = /this browser does not support WebAssembly/;
  await check(url, { 'parse at once': none, loader: none, read: none }, LACKS.WebAssembly);
});

test('a page has the modules that it can use, and no others', () => {
  for (const name of ['vite', 'webpack', 'parcel', 'rollup with assets']) {
    const { files, build } = BUNDLERS[name];
    const folder = project(`${name} small`, { ...files, 'page.js': `import { STLLoader } from 'polyhaul/stl';\nnew STLLoader();\n` });
    shell(build[0], folder);
    const modules = readdirSync(join(folder, 'dist'), { recursive: true }).filter((file) => file.endsWith('.wasm'));
    assert.equal(modules.length, 1, `${name}: ${modules}`);
  }
});

for (const [module, resolution] of [['esnext', 'bundler'], ['node16', 'node16'], ['nodenext', 'nodenext']]) {
  test(`TypeScript: types with moduleResolution ${resolution}`, () => {
    const folder = project(`types-${resolution}`, { 'types.ts': readFileSync(join(HERE, 'types.ts')) });
    shell(`tsc --noEmit --strict --target es2023 --module ${module} --moduleResolution ${resolution} types.ts`, folder);
  });
}

/** Imports all of the package where nothing of a page may be touched, as servers that render pages do. */
const SERVER = `const { exports } = JSON.parse(readFileSync('node_modules/polyhaul/package.json'));
// three.js looks for a window.
await import('three');
const touched = [];
for (const name of ['window', 'document', 'Worker', 'location', 'XMLHttpRequest', 'fetch']) {
  Object.defineProperty(globalThis, name, { get: () => touched.push(name) && undefined });
}
const names = Object.entries(exports).filter(([, { types }]) => types).map(([name]) => name.replace('.', 'polyhaul'));
for (const name of names) await import(name);
if (process.features.require_module) names.forEach((name) => createRequire(import.meta.url)(name));
const started = process.getActiveResourcesInfo().filter((name) => /Worker|MessagePort|FSReq/.test(name));
assert.deepEqual([names.length, touched, started], [7, [], []]);
`;

/** Reads files on disk and from a server, with the package as it is installed and by its address. */
const READER = `const { read, convert } = await import(new URL('node_modules/polyhaul/polyhaul.js', import.meta.url));
const { MTLLoader, OBJLoader } = await import('polyhaul/obj');
const { PLYLoader } = await import('polyhaul/three');
const [models, name] = [process.argv[2], 'a model #1.obj'];
const url = pathToFileURL(name);
for (const source of [name, './' + name, url, url.href, models + 'cube.obj']) {
  assert.equal((await read(source)).counts.positions, 8);
  const group = await new OBJLoader().loadAsync(source instanceof URL ? url.href : source);
  assert.equal(group.children[0].geometry.attributes.position.count, 36);
}
const { blob } = await convert(url, 'a.ply', { others: { 'a.mtl': pathToFileURL('package.json') } });
writeFileSync('a.ply', new Uint8Array(await blob.arrayBuffer()));
assert.equal((await new PLYLoader().setPath('./').loadAsync('a.ply')).index.count, 36);
await assert.rejects(read('missing.obj'), /cannot load missing.obj: ENOENT/);
await assert.rejects(new OBJLoader().loadAsync('missing.obj'), /cannot load missing.obj: ENOENT/);
await assert.rejects(new MTLLoader().loadAsync(models + 'missing.mtl'), /cannot load .*missing.mtl: 404/);
await assert.rejects(read('.', { format: 'obj' }), /EISDIR/);
`;

const IMPORTS = `import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
`;

test('Node: imports on a server touch nothing', () => {
  shell('node main.mjs', project('server', { 'main.mjs': IMPORTS + SERVER }));
});

test('Node: files on disk and from a server', async () => {
  const folder = project('node', { 'main.mjs': IMPORTS + READER, 'a model #1.obj': CUBE });
  // Not `shell`, which would block the server.
  const process = spawn('node', ['main.mjs', address(models)], { cwd: folder });
  let told = '';
  process.stderr.on('data', (text) => (told += text));
  assert.equal(await new Promise((resolve) => process.on('exit', resolve)), 0, told);
});

/** Opens the page, and compares what it tells. */
async function check(url, wanted = expected(address(models)), change = () => {}) {
  const page = await browser.newPage();
  await page.addInitScript(change);
  const told = [];
  page.on('console', (message) => told.push(message.text()));
  page.on('pageerror', (error) => told.push(`${error}`));
  try {
    await page.goto(`${url}?models=${address(models)}`);
    const outcome = await page.evaluate(async () => {
      // Next.js runs a page after it has loaded.
      for (let tries = 0; !globalThis.outcome && tries < 100; tries++) await new Promise((resolve) => setTimeout(resolve, 100));
      return globalThis.outcome;
    });
    assert.ok(outcome, `the page has not run: ${told.join('\n')}`);
    for (const [step, value] of Object.entries(wanted)) {
      const values = [outcome[step]].flat();
      const isRight = [value].flat().map((one, at) => (one instanceof RegExp ? one.test(values[at]) : one === values[at]));
      assert.ok(isRight.every(Boolean) && isRight.length === values.length, `${step}: ${values.join('\n')}\n${told.join('\n')}`);
    }
  } finally {
    await page.close();
  }
}

let installed;

/** A fresh project with the package, three.js, and the page. */
function project(name, files = {}) {
  if (!installed) {
    installed = written('installed', { 'package.json': '{ "type": "module", "private": true }\n' });
    shell(`npm install --no-audit --no-fund --loglevel=error ${PACKED} three@0.187`, installed);
  }
  const folder = resolve('projects', name);
  rmSync(folder, { recursive: true, force: true });
  cpSync(installed, folder, { recursive: true });
  return written(name, { 'page.js': readFileSync(join(HERE, 'page.js')), 'index.html': PAGE, ...files });
}

function written(name, files) {
  const folder = resolve('projects', name);
  mkdirSync(folder, { recursive: true });
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
  return folder;
}

const PATH = `${resolve('node_modules/.bin')}:${process.env.PATH}`;
const placed = (cwd) => ({ cwd, env: { ...process.env, PATH, NEXT_TELEMETRY_DISABLED: '1' } });

/** Runs a command in a folder; what it says is told if it fails. */
function shell(command, folder) {
  try {
    return execFileSync('sh', ['-c', command], { ...placed(folder), encoding: 'utf8', stdio: 'pipe', timeout: 120_000 });
  } catch ({ stdout, stderr, message }) {
    throw new Error(`${message}\n${stdout}\n${stderr}`);
  }
}
