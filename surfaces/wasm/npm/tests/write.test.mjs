// Meshes and tables as files, by `write`, and by exporters beside three.js' own.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  Bone,
  BoxGeometry,
  BufferAttribute,
  BufferGeometry,
  Group,
  InterleavedBuffer,
  InterleavedBufferAttribute,
  Line,
  LineLoop,
  LineSegments,
  Mesh,
  MeshBasicMaterial,
  Points,
  Skeleton,
  SkinnedMesh,
  SphereGeometry,
} from 'three';
import { OBJExporter as TheirOBJExporter } from 'three/addons/exporters/OBJExporter.js';
import { PLYExporter as TheirPLYExporter } from 'three/addons/exporters/PLYExporter.js';
import { STLExporter as TheirSTLExporter } from 'three/addons/exporters/STLExporter.js';
import { OBJLoader } from 'three/addons/loaders/OBJLoader.js';
import { PLYLoader } from 'three/addons/loaders/PLYLoader.js';
import { STLLoader } from 'three/addons/loaders/STLLoader.js';
import { PolyhaulError, read, readTables, write } from 'polyhaul';
import { OBJExporter, PLYExporter, STLExporter } from 'polyhaul/exporters';
import { OBJLoader as OwnOBJLoader } from 'polyhaul/three';

globalThis.requestAnimationFrame ??= setTimeout;

const SQUARE = {
  name: 'a square',
  positions: Float32Array.of(0, 0, 0, 1, 0, 0, 1, 1, 0.1, 0, 1, 1 / 3),
  indices: Uint16Array.of(0, 1, 2, 2, 3, 0),
  uvs: Float32Array.of(0, 0, 1, 0, 1, 1, 0, 1),
  normals: Float32Array.of(0, 0, 1, 0, 0, 1, 0, 0.6, 0.8, 0, 0, 1),
  colors: Uint8Array.of(255, 0, 0, 0, 255, 0, 0, 0, 255, 51, 51, 51),
  material: 'red paint',
};

test('a mesh is the same when it is read again', async () => {
  const { blob, bytes, warningCount } = await write(SQUARE, 'a.obj');
  assert.deepEqual([blob.size, warningCount], [bytes, 0]);
  const { meshes, objects, materials } = await read(blob, { name: 'a.obj' });
  const [mesh] = meshes;
  for (const kind of ['positions', 'uvs', 'normals']) assert.deepEqual(mesh[kind], SQUARE[kind], kind);
  assert.deepEqual([...mesh.faces.positions], [...SQUARE.indices]);
  assert.deepEqual([...mesh.faces.uvs], [...SQUARE.indices]);
  assert.deepEqual([...mesh.colors.slice(0, 8)], [1, 0, 0, 1, 0, 1, 0, 1]);
  assert.deepEqual([objects[0].name, materials[0].name], ['a square', 'red paint']);
  const ply = await read((await write(SQUARE, 'a.ply')).blob, { name: 'a.ply' });
  for (const kind of ['positions', 'uvs', 'normals']) assert.deepEqual(ply.meshes[0][kind], SQUARE[kind], kind);
  const stl = await write(SQUARE, 'a.stl');
  assert.equal(stl.bytes, 84 + 2 * 50);
  assert.ok(stl.warnings.some(({ text }) => /UVs?, which STL cannot store/.test(text)));
});

test('coordinates that floats cannot hold stay as they are', async () => {
  const positions = Float64Array.of(454123.125, 5411234.456, 100.5, 454124, 5411235.789, 100.25, 454125, 5411234, 99.5);
  const { blob } = await write({ positions, indices: [0, 1, 2] }, 'a.obj');
  assert.match(await blob.text(), /^v 454123.125 5411234.456 100.5$/m);
  const { meshes } = await read(blob, { name: 'a.obj' });
  assert.deepEqual(meshes[0].exactPositions, positions);
  assert.deepEqual(meshes[0].positions, Float32Array.from(positions));
  const again = await write(meshes[0], 'a.ply');
  assert.deepEqual((await read(again.blob, { name: 'a.ply' })).meshes[0].exactPositions, positions);
  assert.equal((await read(blob, { name: 'a.obj', precision: 'single' })).meshes[0].exactPositions, undefined);
});

test('polygons, polylines, points and several meshes', async () => {
  const positions = [0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0];
  const faces = { offsets: [0, 4], positions: [0, 1, 2, 3], uvs: [0, 0, 1, 1] };
  const meshes = [
    { positions, faces, uvs: [0.25, 0, 0.75, 1] },
    { name: 'edges', positions, lines: { offsets: [0, 3], positions: [0, 1, 2] } },
    { name: 'dots', positions, points: [3, 1] },
  ];
  const text = await (await write(meshes, 'a.obj')).blob.text();
  for (const line of ['f 1/1 2/1 3/2 4/2', 'o edges', 'l 5 6 7', 'o dots']) assert.ok(text.includes(`${line}\n`), text);
  const { counts } = await read(new TextEncoder().encode(text), { name: 'a.obj' });
  assert.deepEqual([counts.positions, counts.faces, counts.lines, counts.points], [12, 1, 1, 2]);
});

test('what was read can be written', async () => {
  const text = 'v 0 0 0\nv 1 0 0\nv 1 1 0\nvt 0 0.5\nvn 0 0 1\nf 1/1/1 2/1/1 3/1/1\n';
  const { meshes } = await read(new TextEncoder().encode(text), { name: 'a.obj' });
  assert.ok((await (await write(meshes, 'a.obj')).blob.text()).endsWith(text.replace(/(vt.*\n)(vn.*\n)/, '$2$1')));
  const ply = await write({ positions: [0, 0, 0], normals: [0, 0, 1] }, 'points.ply', { encoding: 'ascii' });
  const again = await read(ply.blob, { name: 'points.ply' });
  assert.deepEqual([...again.meshes[0].normals], [0, 0, 1]);
  assert.match(await ply.blob.text(), /^ply\nformat ascii/);
  const big = await write(again.meshes, 'a.ply', { encoding: 'big' });
  assert.match(await big.blob.text(), /^ply\nformat binary_big_endian/);
});

test('tables are written', async () => {
  const columns = { x: Float32Array.of(0.5, 2), n: BigInt64Array.of(-1n, 7n), y: [1.5, 1e300] };
  const { blob, bytes } = await write({ columns }, 'a.csv');
  assert.equal(await blob.text(), 'x,n,y\n0.5,-1,1.5\n2,7,1e300\n');
  assert.equal(blob.size, bytes);
  const npy = await write({ columns: [{ name: 'x', values: Uint16Array.of(1, 2, 3) }] }, 'a.npy');
  const { tables } = await readTables(npy.blob, { name: 'a.npy' });
  assert.deepEqual(tables[0].columns[0].values, Uint16Array.of(1, 2, 3));
  const lists = [{ name: 'list', values: Uint8Array.of(1, 2, 3), offsets: [0, 1, 3] }];
  const ply = await write([{ name: 'rows', columns: lists }], 'a.ply', { encoding: 'ascii' });
  assert.match(await ply.blob.text(), /element rows 2\nproperty list uchar uchar list\nend_header\n1 1\n2 2 3\n$/);
});

test('what cannot be written is an error', async () => {
  const positions = [0, 0, 0, 1, 0, 0, 1, 1, 0];
  const wrong = [
    {},
    [],
    undefined,
    { positions: [1, 2] },
    { positions, indices: [0, 1] },
    { positions, indices: [0, 1, 2 ** 32 + 2] },
    { positions, indices: Float64Array.of(0, 1.5, 2) },
    { positions, uvs: [1, 2] },
    { positions, indices: [0, 1, 2], normals: [0, 0, 1], normalDomain: 'face' },
    { positions, colors: [1] },
    { positions, vertexColumns: [{ name: 'a', values: [1] }] },
    { positions, faces: { positions: [0, 1, 2] } },
    { positions, lines: { positions: [0, 1, 2] } },
    { columns: { a: [1, null] } },
    { columns: { a: ['1'] } },
    { columns: { a: 1 } },
    [{ positions }, { columns: {} }],
  ];
  for (const source of wrong) await assert.rejects(write(source, 'a.obj'), TypeError, JSON.stringify(source));
  await assert.rejects(write({ positions }, ''), TypeError);
  for (const [source, to, kind] of [
    [{ positions, indices: [0, 1, 3] }, 'a.obj', 'usage'],
    [{ positions }, 'a.xyzzy', 'usage'],
    [{ columns: { a: [1, 2], b: [1] } }, 'a.csv', 'usage'],
    [{ positions }, 'a.obj.gz', 'unsupported'],
  ]) {
    const error = await write(source, to).catch((error) => error);
    assert.ok(error instanceof PolyhaulError && error.kind === kind, `${to}: ${error}`);
  }
  const abort = AbortSignal.abort();
  await assert.rejects(write({ positions }, 'a.obj', { signal: abort }), { name: 'AbortError' });
});

test('what is empty can be written', async () => {
  const { tables } = await readTables(new TextEncoder().encode('a,b\n'), { name: 'a.csv' });
  assert.equal(await (await write(tables, 'b.csv')).blob.text(), 'a,b\n');
  const { blob } = await write({ positions: [], colors: [], faces: { offsets: [0] } }, 'a.ply', { encoding: 'ascii' });
  assert.match(await blob.text(), /element vertex 0\n/);
});

test('names cannot break out of their line', async () => {
  const mesh = { ...SQUARE, name: 'a\ngiven mesh b', material: 'c\r\nto d.stl' };
  const { objects, materials } = await read((await write(mesh, 'a.obj')).blob, { name: 'a.obj' });
  assert.deepEqual([objects.map(({ name }) => name), materials[0].name], [['a given mesh b'], 'c  to d.stl']);
});

test('arrays are kept, or moved if that is asked for', async () => {
  const positions = Float32Array.of(0, 0, 0);
  await write({ positions }, 'a.ply');
  assert.equal(positions.length, 3);
  await write({ positions }, 'a.ply', { transfer: true });
  assert.equal(positions.length, 0);
});

/** Meshes with and without an index, groups, colors, interleaved and normalized attributes, in a moved group. */
function scene() {
  const group = new Group();
  const box = new Mesh(new BoxGeometry(1, 2, 3), ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => new MeshBasicMaterial({ name })));
  const ball = new Mesh(new SphereGeometry(1, 7, 5).toNonIndexed(), new MeshBasicMaterial({ name: 'ball' }));
  const geometry = new BufferGeometry();
  const numbers = new InterleavedBuffer(Float32Array.of(0, 0, 0, 0.5, 0, 1, 0, 0, 0.2, 1, 0, 1, 0, 0.3, 0), 5);
  geometry.setAttribute('position', new InterleavedBufferAttribute(numbers, 3, 0));
  geometry.setAttribute('uv', new InterleavedBufferAttribute(numbers, 2, 3));
  geometry.setAttribute('color', new BufferAttribute(Uint8Array.of(255, 0, 0, 0, 128, 0, 9, 8, 7), 3, true));
  const triangle = new Mesh(geometry, new MeshBasicMaterial({ vertexColors: true }));
  group.add(box, ball, triangle);
  [box.name, ball.name, triangle.name] = ['box', 'a ball', 'triangle'];
  box.position.set(1, 2, 3);
  ball.rotation.set(0.5, 1, 0);
  group.scale.set(1, 2, -0.5);
  group.updateMatrixWorld(true);
  return group;
}

const NEAR = 1e-5;

function same(ours, theirs, name) {
  assert.deepEqual(Object.keys(ours.attributes).sort(), Object.keys(theirs.attributes).sort(), name);
  for (const [kind, { array }] of Object.entries(theirs.attributes)) {
    const own = ours.attributes[kind].array;
    assert.equal(own.length, array.length, `${name} ${kind}`);
    own.forEach((value, at) => assert.ok(Math.abs(value - array[at]) < NEAR, `${name} ${kind} ${at}: ${value}, ${array[at]}`));
  }
  assert.deepEqual(ours.index && [...ours.index.array], theirs.index && [...theirs.index.array], name);
}

test('OBJExporter writes what that of three.js writes', async () => {
  const group = scene();
  const cloud = new Points(new SphereGeometry(1, 3, 3));
  cloud.geometry.deleteAttribute('normal');
  const lines = [Line, LineSegments].map((Kind) => new Kind(new SphereGeometry(1, 4, 3)));
  [...lines, cloud].forEach((one, at) => Object.assign(one, { name: `other ${at}` }));
  group.add(...lines, cloud);
  const text = new OBJExporter().parse(group);
  assert.equal(await new OBJExporter().parseAsync(group), text);
  const [ours, theirs] = [text, new TheirOBJExporter().parse(group)].map((it) => new OBJLoader().parse(it));
  assert.deepEqual(ours.children.map(({ name }) => name), theirs.children.map(({ name }) => name));
  ours.children.forEach(({ geometry }, at) => same(geometry, theirs.children[at].geometry, `${at}`));
  // Materials of groups, which three.js leaves out.
  assert.deepEqual(ours.children[0].material.map(({ name }) => name), ['a', 'b', 'c', 'd', 'e', 'f']);
  assert.equal(ours.children[1].material.name, 'ball');
  const loop = new LineLoop(new BoxGeometry());
  assert.match(new OBJExporter().parse(loop), / 22 1\n$/);
  // More than a call may have arguments, and too few for a line.
  for (const count of [300_000, 1, 0]) {
    const positions = new BufferAttribute(new Float32Array(3 * count), 3);
    const long = new LineLoop(new BufferGeometry().setAttribute('position', positions));
    assert.equal(new OBJExporter().parse(long).match(/^v /gm)?.length ?? 0, count);
  }
  // A group beyond the faces.
  const { geometry } = group.children[0];
  geometry.addGroup(36, 3, 0);
  assert.equal(new OBJExporter().parse(new Mesh(geometry, group.children[0].material)).match(/^usemtl /gm).length, 6);
  assert.equal(new OBJExporter().parse(new Group()), '');
});

test('meshes without names are told apart', () => {
  const group = new Group().add(new Mesh(new BoxGeometry()), new Mesh(new BoxGeometry()));
  for (const Exporter of [OBJExporter, TheirOBJExporter]) {
    for (const Loader of [OBJLoader, OwnOBJLoader]) {
      const { children } = new Loader().parse(new Exporter().parse(group));
      assert.deepEqual(children.map(({ geometry }) => geometry.attributes.position.count), [36, 36]);
    }
  }
});

test('STLExporter writes what that of three.js writes', async () => {
  const group = scene();
  for (const binary of [true, false]) {
    const file = new STLExporter().parse(group, { binary });
    assert.deepEqual(await new STLExporter().parseAsync(group, { binary }), file);
    const theirs = new TheirSTLExporter().parse(group, { binary });
    assert.equal(typeof file, typeof theirs);
    const [own, other] = [file, theirs].map((it) => new STLLoader().parse(it.buffer ?? it));
    same(own, other, `${binary}`);
  }
});

test('STLExporter bends what has bones', () => {
  const geometry = new BoxGeometry();
  const { count } = geometry.attributes.position;
  geometry.setAttribute('skinIndex', new BufferAttribute(new Uint16Array(4 * count), 4));
  geometry.setAttribute('skinWeight', new BufferAttribute(Float32Array.from({ length: 4 * count }, (_, at) => (at % 4 ? 0 : 1)), 4));
  const mesh = new SkinnedMesh(geometry);
  const bone = new Bone();
  mesh.add(bone);
  mesh.bind(new Skeleton([bone]));
  bone.position.set(5, 0, 0);
  mesh.updateMatrixWorld(true);
  const [ours, theirs] = [STLExporter, TheirSTLExporter].map((Kind) => new STLLoader().parse(new Kind().parse(mesh)));
  same(ours, theirs, 'skinned');
  assert.equal(Math.max(...ours.attributes.position.array), 5.5);
});

test('PLYExporter writes what that of three.js writes', async () => {
  const group = scene();
  const cloud = new Points(new SphereGeometry(1, 3, 3));
  for (const object of [group, group.children[2], cloud, new Group().add(scene(), cloud)]) {
    const excludes = [[], ['normal', 'uv'], ['color'], ['index']];
    for (const excludeAttributes of excludes) {
      for (const how of [{}, { binary: true }, { binary: true, littleEndian: true }]) {
        const options = { ...how, excludeAttributes };
        const file = new PLYExporter().parse(object, null, options);
        assert.deepEqual(await new PLYExporter().parseAsync(object, options), file);
        const theirs = new TheirPLYExporter().parse(object, null, options);
        assert.equal(typeof file, typeof theirs);
        const [own, other] = [file, theirs].map((it) => new PLYLoader().parse(it));
        same(own, other, JSON.stringify(options));
      }
    }
  }
  const done = await new Promise((resolve) => new PLYExporter().parse(group, resolve));
  assert.match(done, /^ply\nformat ascii/);
  assert.equal(new PLYExporter().parse(new Group()), null);
  assert.throws(() => new PLYExporter().parse(group, null, { customPropertyMapping: { size: ['size'] } }), TypeError);
});
