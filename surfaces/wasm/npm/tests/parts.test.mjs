// Several workers that share a file give what one gives, wherever the file is cut.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readFileSync, readdirSync } from 'node:fs';
import { draw, prepare } from 'polyhaul';
import { drawInParts, workersFor } from '../node_modules/polyhaul/parts.js';
import { hold } from '../node_modules/polyhaul/pool.js';

const MODULE = new URL('../node_modules/polyhaul/polyhaul-obj.wasm', import.meta.url).href;
const CORNERS = 'v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 0 0 1\nvt 0 0.5\nvt 1 0\nvn 0 0 1\nvn 0 1 0\n';
const FACES = `usemtl red
f 1/1/1 2/2/2 3/1/1
o a
f 3/1/1 4/2/1 1/1/1 2/2/2
usemtl blue
f 1 2 5
l 1 2 3
usemtl red
f 2/1/1 3/1/1 \\
4/1/1
g b
s off
f 1/1/1 2/1/1 5/1/1
p 3 4
usemtl green
o d
f 4/1/1 5/1/1 1/1/1
`;
const FILES = {
  'vertices first': CORNERS + FACES,
  'vertices last': FACES + CORNERS,
  'vertices in between': `${CORNERS}${FACES}v 0 0 0 1 0.5 0\n${FACES}o last\nf 10 1 2\n`.replace('10', '6'),
  'indices that count backwards': `${CORNERS}${FACES}f -1 -2 -3\n`,
  'colors in one part': `v 0 0 0 1 0 0\nv 1 0 0 1 0 0\n${'v 1 1 1\n'.repeat(20)}f 1 2 3\nf 9 10 11\n`,
  'line ends of Windows': (CORNERS + FACES).replaceAll('\n', '\r\n'),
  'line ends of old Macs': CORNERS.replaceAll('\n', '\r') + 'f 1 2 3',
  'no elements': CORNERS,
  'one line': 'v 1 2 3',
  'a byte order mark in the middle': `${CORNERS}\ufefff 1 2 3\n${FACES}`,
  'more warnings than are kept': CORNERS + Array.from({ length: 2600 }, (_, at) => `usemtl m${at % 1400}\np 1\n`).join(''),
  'curves that are not read': `${CORNERS}cstype bezier\ndeg 2\ncurv 0 1 1 2 3\n${'# more\n'.repeat(9)}end\n${FACES}`,
  'a line that is no OBJ, and materials without a library': `${CORNERS}${FACES}what is this\n${FACES}`,
};

const bufferOf = (text) => new TextEncoder().encode(text).buffer;

/** What so many workers draw. The file is moved to them, as all files are in Node. */
async function shared(text, count, { others = {}, signal, ...options } = {}) {
  const file = bufferOf(text);
  const own = { name: 'a.obj', format: 'obj', skip: true, ...options };
  // The module for OBJ alone, while `draw` below has the one for all formats.
  const message = { kind: MODULE, module: await prepare('obj'), task: 'draw', file, others, options: own };
  return drawInParts(file, count, message, [file], signal, () => {});
}

/** The same with arrays that can be compared, and materials by name. */
function told({ shapes, materials, ...rest }) {
  const plain = ({ attributes, uses, ...shape }) => ({
    ...shape,
    uses: uses.map((use) => ({ ...use, material: materials[use.material]?.name })),
    attributes: Object.fromEntries(Object.entries(attributes).map(([name, array]) => [name, [...array]])),
  });
  return { ...rest, shapes: shapes.map(plain), materials: materials.map(({ name, missing }) => [name, missing]).sort() };
}

for (const [name, text] of Object.entries(FILES)) {
  test(`parts: ${name}`, async () => {
    const whole = told(await draw(bufferOf(text), { name: 'a.obj', format: 'obj', skip: true }));
    for (let count = 2; count < 10; count++) assert.deepEqual(told(await shared(text, count)), whole, `${count} parts`);
  });
}

test('parts of files of other programs', async () => {
  const folder = process.env.POLYHAUL_TESTDATA;
  const files = readdirSync(folder, { recursive: true }).filter((name) => name.endsWith('.obj'));
  for (const name of files) {
    const text = readFileSync(`${folder}/${name}`, 'utf8');
    const results = [draw(bufferOf(text), { name: 'a.obj', format: 'obj', skip: true }), shared(text, 3)];
    const [whole, parts] = await Promise.all(results.map((result) => result.then(told, (error) => error.message)));
    assert.deepEqual(parts, whole, name);
  }
  assert.ok(files.length > 20);
});

test('a fault is told as one worker tells it', async () => {
  const text = `${CORNERS}${FACES}f 1 2 99\n${FACES}`;
  const results = [draw(bufferOf(text), { name: 'a.obj' }), shared(text, 3, { skip: false })];
  const [one, some] = await Promise.all(results.map((result) => result.catch((error) => error)));
  assert.deepEqual({ ...some }, { ...one });
  assert.equal(some.line, 27);
});

test('places of warnings do not count the bytes of libraries', async () => {
  const others = { 'a.mtl': bufferOf('newmtl red\nKd 1 0 0\n') };
  const text = `mtllib a.mtl\n${CORNERS}${FACES}${'f 1 2 3\n'.repeat(20)}what is this\n${FACES}`;
  const whole = told(await draw(bufferOf(text), { name: 'a.obj', skip: true, others }));
  assert.equal(whole.warnings[0].offset, text.indexOf('what'));
  for (let count = 2; count < 5; count++) assert.deepEqual(told(await shared(text, count, { others })), whole);
});

test('what was given up before is not begun, and what ended is not waited for', async () => {
  await assert.rejects(shared(CORNERS + FACES, 2, { signal: AbortSignal.abort() }), { name: 'AbortError' });
  const worker = await hold(MODULE);
  await worker.inner.terminate();
  await assert.rejects(worker.run({}, [], undefined, () => {}), { message: 'the worker has ended' });
});

test('a large file is shared, given up and read again', async () => {
  const rows = [];
  for (let at = 0; at < 100_000; at++) rows.push(`v ${at % 317} ${at % 71}.25 ${at % 13}\nvt 0.${at % 97} 0.5\n`);
  for (let at = 1; at < 99_000; at++) rows.push(`${at % 30_000 ? '' : `o part${at}\n`}f ${at}/${at} ${at + 1}/${at} ${at + 900}/1\n`);
  const text = rows.join('').repeat(3);
  assert.ok(workersFor(text.length, 4) > 1 && workersFor(text.length, 1) === 1 && workersFor(1000, 4) === 1);
  let last = 0;
  const onProgress = (bytes) => (last = Math.max(last, bytes));
  const [one, some] = [await draw(bufferOf(text), { format: 'obj', workers: 1 }), await draw(bufferOf(text), { format: 'obj', workers: 3, onProgress })];
  assert.ok(last > text.length / 2 && last <= text.length);
  assert.equal(some.shapes.length, one.shapes.length);
  some.shapes.forEach(({ name, uses, attributes }, at) => {
    assert.deepEqual([name, uses], [one.shapes[at].name, one.shapes[at].uses]);
    for (const [key, array] of Object.entries(one.shapes[at].attributes)) {
      assert.ok(Buffer.from(attributes[key].buffer).equals(Buffer.from(array.buffer)), `${name} ${key}`);
    }
  });
  last = 0;
  // The others cannot go on, and one begins anew.
  await draw(bufferOf(`${text}f -1 -2 -3\n`), { format: 'obj', workers: 3, onProgress });
  assert.ok(last > 0 && last <= text.length + 11);
  const controller = new AbortController();
  const given = draw(bufferOf(text), { format: 'obj', workers: 3, signal: controller.signal });
  setTimeout(() => controller.abort(), 20);
  await assert.rejects(given, { name: 'AbortError' });
  assert.equal((await draw(bufferOf(text), { format: 'obj', workers: 3 })).shapes.length, one.shapes.length);
});
