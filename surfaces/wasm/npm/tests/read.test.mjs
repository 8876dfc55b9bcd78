// Reading in workers: scenes, tables, compressed files, errors with their places, files that others refer to.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { PolyhaulError, convert, dispose, draw, prepare, read, readTables } from 'polyhaul';

const encode = (text) => new TextEncoder().encode(text);
const TRIANGLE = 'o one\nv 0 0 0\nv 1 0 0\nv 0 1 0.5\nvt 0.25 1\nf 1/1 2/1 3/1\n';

test('a scene has the arrays of the model', async () => {
  const scene = await read(encode(TRIANGLE), { name: 'a.obj' });
  assert.equal(scene.bytes, TRIANGLE.length);
  const [mesh] = scene.meshes;
  assert.deepEqual(mesh.positions, Float32Array.of(0, 0, 0, 1, 0, 0, 0, 1, 0.5));
  assert.deepEqual(mesh.uvs, Float32Array.of(0.25, 1));
  assert.deepEqual(mesh.faces.offsets, Uint32Array.of(0, 3));
  assert.deepEqual(mesh.faces.positions, Uint32Array.of(0, 1, 2));
  assert.deepEqual(mesh.faces.uvs, Uint32Array.of(0, 0, 0));
  assert.equal(mesh.normals, undefined);
  assert.deepEqual(scene.objects.map(({ name }) => name), ['one']);
});

test('blobs, buffers, views and URLs are sources', async () => {
  const bytes = encode(TRIANGLE);
  const url = URL.createObjectURL(new Blob([bytes]));
  const view = new Uint8Array([0, 0, ...bytes]).subarray(2);
  for (const source of [new Blob([bytes]), bytes.slice().buffer, view, url]) {
    const { meshes } = await read(source, { format: 'obj' });
    assert.equal(meshes[0].positions.length, 9);
  }
  URL.revokeObjectURL(url);
});

test('a buffer is kept, or moved if that is asked for', async () => {
  const buffer = encode(TRIANGLE).buffer;
  await read(buffer, { name: 'a.obj' });
  assert.equal(buffer.byteLength, TRIANGLE.length);
  await read(buffer, { name: 'a.obj', transfer: true });
  assert.equal(buffer.byteLength, 0);
});

test('files tell their names', async () => {
  const { meshes } = await read(new File([encode(TRIANGLE)], 'one.OBJ'));
  assert.equal(meshes[0].positions.length, 9);
  const { meshes: points } = await read(new File([encode('x,y,z\n0,1,2\n')], 'points.csv'));
  assert.deepEqual(points[0].positions, Float32Array.of(0, 1, 2));
});

test('tables have columns', async () => {
  const { tables } = await readTables(encode('x,y\n1,2.5\n3,4\n'), { name: 'a.csv' });
  assert.deepEqual(tables[0].columns.map(({ name, values }) => [name, [...values]]), [
    ['x', [1n, 3n]],
    ['y', [2.5, 4]],
  ]);
});

test('gzip, zstd and lz4 are read', async () => {
  const folder = process.env.POLYHAUL_TESTDATA;
  const { meshes } = await read(gzipSync(TRIANGLE), { name: 'a.obj.gz' });
  assert.equal(meshes[0].positions.length, 9);
  for (const name of ['zst/good/scene.obj.level19.zst', 'lz4/good/scene.obj.frame.lz4']) {
    const scene = await read(readFileSync(`${folder}/${name}`), { name });
    assert.ok(scene.meshes[0].faces.offsets.length > 1, name);
  }
});

test('an error has its place', async () => {
  const error = await read(encode('v 0 0 0\nf 1 2 x\n'), { name: 'broken.obj' }).catch((error) => error);
  assert.ok(error instanceof PolyhaulError);
  assert.deepEqual([error.kind, error.file, error.line, error.column], ['malformed', 'broken.obj', 2, 7]);
  assert.match(error.message, /^broken.obj:2:7: invalid index `x`/);
  const unknown = await read(encode('v'), { format: 'fbx' }).catch((error) => error);
  assert.deepEqual([unknown.kind, unknown.message], ['usage', 'unknown format `fbx`']);
});

test('what is left out is a warning', async () => {
  const { warnings, warningCount, meshes } = await read(encode(`${TRIANGLE}f 1 2 x\n`), { name: 'a.obj', skip: true });
  assert.equal(warningCount, 1);
  assert.deepEqual([warnings[0].line, warnings[0].column], [7, 7]);
  assert.equal(meshes[0].faces.offsets.length, 2);
});

test('material libraries are found among the other files', async () => {
  const text = `mtllib a.mtl\n${TRIANGLE.replace('f ', 'usemtl red\nf ')}`;
  const others = { 'a.mtl': encode('newmtl red\nKd 1 0.5 0\nmap_Kd red.png\n') };
  const { materials, warningCount } = await read(encode(text), { name: 'a.obj', others });
  assert.equal(warningCount, 0);
  assert.deepEqual(materials[0].diffuse, [1, 0.5, 0]);
  assert.deepEqual(materials[0].maps, [{ kind: 'Diffuse', file: 'red.png' }]);
  const alone = await read(encode(text), { name: 'a.obj' });
  assert.ok(alone.materials[0].missing);
});

test('progress is told, and a job can be given up', async () => {
  const text = encode('v 0.25 0.5 0.125\n'.repeat(1e6));
  const told = [];
  const { meshes } = await read(text, { name: 'a.obj', onProgress: (bytes, total) => told.push([bytes, total]) });
  assert.equal(meshes[0].positions.length, 3e6);
  assert.ok(told.length >= 2 && told.every(([bytes, total]) => bytes <= total && total === text.length));
  const abort = new AbortController();
  const reading = read(text, { name: 'a.obj', signal: abort.signal });
  setTimeout(() => abort.abort(), 1);
  await assert.rejects(reading, { name: 'AbortError' });
  // Others are not hurt.
  assert.equal((await read(encode(TRIANGLE), { name: 'a.obj' })).meshes.length, 1);
});

test('several jobs run at once', async () => {
  await prepare();
  const all = Array.from({ length: 5 }, (_, at) => read(encode(`v ${at} 0 0\n`), { name: 'a.obj' }));
  const scenes = await Promise.all(all);
  assert.deepEqual(scenes.map(({ meshes }) => meshes[0].positions[0]), [0, 1, 2, 3, 4]);
});

test('a file becomes one of another format', async () => {
  for (const to of ['a.ply', 'a.stl', 'a.off', 'a.obj']) {
    const { blob, bytes, warningCount } = await convert(encode(TRIANGLE), to, { name: 'a.obj' });
    assert.equal(blob.size, bytes);
    const { meshes } = await read(blob, { name: to });
    assert.deepEqual(meshes[0].positions, Float32Array.of(0, 0, 0, 1, 0, 0, 0, 1, 0.5), to);
    // Only OBJ has names of objects.
    assert.equal(warningCount === 0, to === 'a.obj', to);
  }
  const unknown = await convert(encode(TRIANGLE), 'a.xyzzy', { name: 'a.obj' }).catch((error) => error);
  assert.equal(unknown.kind, 'usage');
});

test('what is no file is an error', async () => {
  for (const source of [{}, undefined, 7]) await assert.rejects(read(source), TypeError);
  await assert.rejects(convert(encode(TRIANGLE), undefined, { name: 'a.obj' }), TypeError);
  await assert.rejects(read(encode(TRIANGLE), { name: 'a.obj', others: { a: () => 1 } }), TypeError);
  const moved = encode(TRIANGLE).buffer;
  structuredClone(moved, { transfer: [moved] });
  await assert.rejects(read(moved, { name: 'a.obj' }), TypeError);
});

test('blobs are found among the other files', async () => {
  const others = { 'a.mtl': new Blob(['newmtl red\nd nan\nKd 1 0.5 0\n']) };
  const text = `mtllib a.mtl\nusemtl red\n${TRIANGLE}`;
  const { materials } = await read(encode(text), { name: 'a.obj', others, skip: true });
  assert.deepEqual([materials[0].missing, materials[0].diffuse, materials[0].opacity], [false, [1, 0.5, 0], undefined]);
});

test('a job that is given up at any time leaves nothing behind', async () => {
  const text = encode('v 0.25 0.5 0.125\n'.repeat(2e4));
  for (let delay = 0; delay < 12; delay++) {
    const abort = new AbortController();
    const jobs = Array.from({ length: 3 }, () => read(text, { name: 'a.obj', signal: abort.signal }).catch((error) => error));
    setTimeout(() => abort.abort(), delay);
    for (const found of await Promise.all(jobs)) assert.ok(found.meshes || found.name === 'AbortError');
    assert.equal((await read(encode(TRIANGLE), { name: 'a.obj' })).meshes.length, 1);
  }
  const broken = read(text, {
    name: 'a.obj',
    onProgress: () => {
      throw new Error('from the caller');
    },
  });
  await broken.catch((error) => assert.equal(error.message, 'from the caller'));
});

test('a file of very many objects is read in time that grows with it', async () => {
  const count = 20_000;
  const text = 'v 0 0 0\nv 1 0 0\nv 0 1 0\n' + Array.from({ length: count }, (_, at) => `o ${at}\nf 1 2 3\n`).join('');
  const { shapes } = await draw(encode(text), { name: 'a.obj' });
  assert.equal(shapes.length, count);
  assert.deepEqual([...shapes[count - 1].attributes.position], [0, 0, 0, 1, 0, 0, 0, 1, 0]);
});

test('what is no format is an error, and so is a module that does not exist', async () => {
  const unknown = { kind: 'usage', message: /^cannot infer the format: .*/, hint: /`format` in the API/ };
  await assert.rejects(read(new TextEncoder().encode('what?')), unknown);
  await assert.rejects(prepare('off'), { name: 'TypeError', message: 'polyhaul: there is no module for off' });
});

test('files on disk are read by their path or URL', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'polyhaul-'));
  const path = join(folder, 'a model #1.obj');
  writeFileSync(path, `mtllib a.mtl\nusemtl red\n${TRIANGLE}`);
  writeFileSync(join(folder, 'a.mtl'), 'newmtl red\nKd 1 0.5 0\n');
  const url = pathToFileURL(path);
  const others = { 'a.mtl': join(folder, 'a.mtl') };
  for (const source of [path, url, url.href]) {
    const { meshes, materials } = await read(source, { others });
    assert.equal(meshes[0].positions.length, 9);
    assert.deepEqual(materials[0].diffuse, [1, 0.5, 0]);
    assert.equal((await draw(source)).shapes[0].corners, 3);
  }
  const broken = await read(url, { format: 'ply' }).catch((error) => error);
  assert.deepEqual([broken.name, broken.file], ['PolyhaulError', 'a model #1.obj']);
  await assert.rejects(read(join(folder, 'none.obj')), /cannot load .*none.obj: ENOENT/);
  await assert.rejects(read(pathToFileURL(folder), { format: 'obj' }), /EISDIR/);
  rmSync(folder, { recursive: true });
});

test('a hint is told once', async () => {
  const { message, hint } = await read(encode('what?')).catch((error) => error);
  assert.equal(message.split(hint).length, 2, message);
});

test('idle workers are ended, and the next file starts another', async () => {
  const reading = read(encode('v 0.25 0.5 0.125\n'.repeat(1e5)), { name: 'a.obj' });
  await prepare();
  dispose();
  assert.equal((await reading).meshes[0].positions.length, 3e5);
  dispose();
  assert.equal((await read(encode(TRIANGLE), { name: 'a.obj' })).meshes.length, 1);
});
