// Files behind URLs: in ranges, as a whole, and from servers that fail; by the file alone in Node, whose engine may not
// be able to wait for it, and by all of the package in a headless Chromium, if there is one.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createServer } from 'node:http';
import { existsSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { read } from 'polyhaul';
import { RangeFile, remote } from '../node_modules/polyhaul/remote.js';

const PATHS = [process.env.CHROME, '/usr/bin/chromium', '/usr/bin/google-chrome'];
const driver = await import('playwright-core').catch(() => undefined);
const executablePath = driver && PATHS.find((path) => path && existsSync(path));
const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.wasm': 'application/wasm' };
const ARGS = ['--no-sandbox', '--disable-quic', '--no-first-run', '--disable-background-networking'];

const LINES = 5000;
const FILE = Buffer.from(Array.from({ length: LINES }, (_, at) => `v ${at} 0.5 ${at % 7}\n`).join(''));
const RANGE = 10_000;
const RANGES = Math.ceil(FILE.length / RANGE);

/** What a server does otherwise than it should, by the path; `count` is the number of the range, from 0. */
const FAULTS = {
  '/plain.obj': () => ({ accepts: false }),
  '/ignored.obj': () => ({ ignores: true }),
  '/changed.obj': (count) => ({ tag: count < 3 ? '"one"' : '"two"' }),
  '/grown.obj': (count) => ({ size: FILE.length + (count < 3 ? 0 : 1) }),
  '/shifted.obj': (count) => ({ shift: count < 3 ? 0 : 1 }),
  '/short.obj': (count) => ({ cut: count < 3 ? 0 : 1 }),
  '/hidden.obj': () => ({ hides: true }),
  '/refused.obj': (count) => ({ status: count < 3 ? 206 : 503 }),
  '/broken.obj': (count) => ({ breaks: count >= 3 }),
  '/flaky.obj': (count, tries) => ({ breaks: tries < 2 }),
  '/none.obj': () => ({ missing: true }),
  '/dated.obj': () => ({ tag: null, date: 'Fri, 27 Nov 2026 10:00:00 GMT' }),
};

let server, address, browser, page, asked;

before(async () => {
  server = createServer(answer);
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  address = `http://127.0.0.1:${server.address().port}`;
  if (!executablePath) return;
  browser = await driver.chromium.launch({ executablePath, args: ARGS });
  page = await browser.newPage();
  await page.goto(`${address}/index.html`);
});

after(async () => {
  await browser?.close();
  server.closeAllConnections();
  server.close();
});

function answer({ url, headers }, response) {
  const { pathname } = new URL(url, address);
  if (!pathname.endsWith('.obj')) return packaged(pathname, response);
  const [, from, to] = (/^bytes=(\d+)-(\d+)$/.exec(headers.range) ?? []).map(Number);
  const count = from / RANGE;
  const tries = asked.filter(([path, at]) => path === pathname && at === from).length;
  asked.push([pathname, from]);
  const fault = FAULTS[pathname]?.(count, tries) ?? {};
  const { accepts = true, tag = '"one"', date, size = FILE.length, shift = 0, cut = 0, status = 206, ignores, hides, breaks, missing } = fault;
  if (missing) return response.writeHead(404).end();
  const common = { 'accept-ranges': accepts ? 'bytes' : 'none', ...(tag && { etag: tag }), ...(date && { 'last-modified': date }) };
  common['cache-control'] = 'no-store';
  if (from === undefined || ignores) return response.writeHead(200, { ...common, 'content-length': FILE.length }).end(FILE);
  const bytes = FILE.subarray(from, Math.min(to + 1, FILE.length) - cut);
  const range = hides ? {} : { 'content-range': `bytes ${from + shift}-${from + shift + bytes.length + cut - 1}/${size}` };
  response.writeHead(status, { ...common, ...range, 'content-length': bytes.length });
  if (!breaks) return response.end(bytes);
  response.write(bytes.subarray(0, bytes.length / 2), () => response.destroy());
}

/** The package, for the page. */
function packaged(path, response) {
  const file = join('node_modules/polyhaul', path);
  response.writeHead(200, { 'content-type': TYPES[extname(path)] ?? 'text/plain' });
  response.end(existsSync(file) ? readFileSync(file) : '<!doctype html>');
}

/** What reading gives: the file, or why there is none. */
const PLACES = {
  async node(path, options = {}) {
    const { file } = await remote(address + path, undefined, options.rangeBytes ?? RANGE);
    if (file instanceof ArrayBuffer) return Buffer.from(file).equals(FILE) ? WHOLE : 'other bytes';
    const ranged = new RangeFile(file);
    const bytes = Buffer.alloc(ranged.size);
    try {
      for (let at = 0, count; at < bytes.length; at += count) {
        await ranged.ready(at);
        count = ranged.read(at, bytes.subarray(at, at + 777));
      }
      return bytes.equals(FILE) ? WHOLE : 'other bytes';
    } catch ({ message }) {
      return message;
    } finally {
      ranged.close();
    }
  },
  chromium: (path, options = {}) =>
    page.evaluate(
      async ({ path, options, last }) => {
        const { read } = await import('/polyhaul.js');
        try {
          const { meshes, bytes } = await read(path, options);
          const { positions } = meshes[0];
          const isRight = positions.every((value, at) => value === [Math.floor(at / 3), 0.5, Math.floor(at / 3) % 7][at % 3]);
          return isRight && positions.length === 3 * last ? bytes : 'other positions';
        } catch ({ name, kind, message }) {
          return `${name}, ${kind}: ${message}`;
        }
      },
      { path, options: { rangeBytes: RANGE, ...options }, last: LINES },
    ),
};

const WHOLE = FILE.length;

function inBoth(name, run) {
  for (const place of Object.keys(PLACES)) {
    const skip = place === 'chromium' && !executablePath && 'there is no Chromium';
    test(`${name} (${place})`, { skip }, () => {
      asked = [];
      return run(PLACES[place], place);
    });
  }
}

/** The ranges that were asked for, in their order in the file; the whole file first, as `undefined`. */
const begins = () => asked.map(([, from]) => from).sort((a, b) => (a ?? -1) - (b ?? -1));
const ALL = Array.from({ length: RANGES }, (_, at) => at * RANGE);

inBoth('a large file is read in ranges, each once', async (read) => {
  assert.equal(await read('/a.obj'), WHOLE);
  assert.deepEqual(begins(), [...ALL, undefined]);
  assert.equal(await read('/dated.obj'), WHOLE);
});

inBoth('a file is loaded as a whole if it is small, or the caller wants it, or the server has no ranges', async (read) => {
  assert.equal(await read('/a.obj', { rangeBytes: FILE.length }), WHOLE);
  assert.equal(await read('/a.obj', { rangeBytes: 0 }), WHOLE);
  assert.equal(await read('/plain.obj'), WHOLE);
  assert.deepEqual(begins(), [undefined, undefined, undefined]);
});

inBoth('a server whose first range is wrong is asked for the whole file', async (read) => {
  assert.equal(await read('/ignored.obj'), WHOLE);
  assert.equal(await read('/hidden.obj'), WHOLE);
  assert.deepEqual(begins(), [0, 0, undefined, undefined, undefined, undefined]);
});

inBoth('a connection that fails is tried again', async (read) => {
  assert.equal(await read('/flaky.obj'), WHOLE);
  assert.deepEqual(begins(), [...ALL.flatMap((at) => [at, at, at]), undefined]);
});

const ERRORS = {
  '/changed.obj': 'the file changed on the server during the download',
  '/grown.obj': 'the file changed on the server during the download',
  '/shifted.obj': 'the server sent 10000 bytes as `bytes 30001-40000/',
  '/short.obj': 'the server sent 9999 bytes as `bytes 30000-39999/',
  '/refused.obj': 'the server answered with status 503',
  '/broken.obj': 'the connection failed',
};

inBoth('what goes wrong with a later range is an error that says so', async (read, place) => {
  for (const [path, why] of Object.entries(ERRORS)) {
    const found = await read(path);
    assert.ok(place === 'node' || `${found}`.startsWith('PolyhaulError, host: '), `${path}: ${found}`);
    assert.ok(`${found}`.includes(`bytes 30000 to 40000 cannot be loaded: ${why}`), `${path}: ${found}`);
  }
  // The worker is ready for the next file.
  assert.equal(await read('/a.obj'), WHOLE);
});

const inChromium = { skip: !executablePath && 'there is no Chromium' };

test('files in ranges are drawn and converted, too', inChromium, async () => {
  asked = [];
  const found = await page.evaluate(async (rangeBytes) => {
    const { convert, draw } = await import('/polyhaul.js');
    const bytesOf = async (rangeBytes) => {
      const { blob } = await convert('/a.obj', 'a.ply', { rangeBytes });
      return new Uint8Array(await blob.arrayBuffer()).join();
    };
    const { meshes } = await draw('/a.obj', { rangeBytes });
    return [(await bytesOf(rangeBytes)) === (await bytesOf(0)), meshes[0].positions.length];
  }, RANGE);
  assert.deepEqual(found, [true, 3 * LINES]);
  assert.equal(asked.length, 2 * (RANGES + 1) + 1);
});

test('reading jumps to where it is asked to', async () => {
  asked = [];
  const { file } = await remote(`${address}/a.obj`, undefined, RANGE);
  const ranged = new RangeFile(file);
  const target = new Uint8Array(100);
  for (const at of [4 * RANGE + 5, 17, FILE.length - 3, RANGE - 1, FILE.length]) {
    await ranged.ready(at);
    const count = ranged.read(at, target);
    assert.ok(count > 0 || at === FILE.length);
    assert.deepEqual([...target.subarray(0, count)], [...FILE.subarray(at, at + count)]);
  }
  ranged.close();
});

test('a file that is not there is an error', async () => {
  asked = [];
  await assert.rejects(read(`${address}/none.obj`), { message: /cannot load .*none.obj: 404/ });
});

test('a server that is not there is named, with the reason', async () => {
  await assert.rejects(remote('http://127.0.0.1:1/a.obj'), /cannot load http:\/\/127\.0\.0\.1:1\/a\.obj: .+/);
  const reason = new Error('given up');
  await assert.rejects(remote('http://127.0.0.1:1/a.obj', AbortSignal.abort(reason)), reason);
});

test('reading in ranges can be given up', inChromium, async () => {
  asked = [];
  const found = await page.evaluate(async () => {
    const { read } = await import('/polyhaul.js');
    const outcomes = [];
    for (let delay = 0; delay < 40; delay += 4) {
      const abort = new AbortController();
      setTimeout(() => abort.abort(), delay);
      outcomes.push(await read('/a.obj', { rangeBytes: 1000, signal: abort.signal }).then(() => 'read', ({ name }) => name));
    }
    return outcomes;
  });
  assert.ok(found.every((outcome) => ['read', 'AbortError'].includes(outcome)) && found.includes('AbortError'), found.join());
  assert.equal(await PLACES.chromium('/a.obj'), WHOLE);
});
