// Our loaders give what three.js' own give: the same objects with the same attributes, groups and materials.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { OBJLoader as TheirOBJLoader } from 'three/addons/loaders/OBJLoader.js';
import { PLYLoader as TheirPLYLoader } from 'three/addons/loaders/PLYLoader.js';
import { STLLoader as TheirSTLLoader } from 'three/addons/loaders/STLLoader.js';
import { OBJLoader as SmallOBJLoader } from 'polyhaul/obj';
import { PLYLoader as SmallPLYLoader } from 'polyhaul/ply';
import { STLLoader as SmallSTLLoader } from 'polyhaul/stl';
import { OBJLoader, PLYLoader, STLLoader } from 'polyhaul/three';

const CUBE = 'v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 0 0 1\nv 1 0 1\nv 1 1 1\nv 0 1 1\n';
const UVS = 'vt 0 0\nvt 1 0\nvt 0.25 0.75\n';
const NORMALS = 'vn 0 0 1\nvn 0 1 0\nvn 0.6 0 0.8\n';

/** Files whose every statement both loaders understand. */
const OBJ = {
  triangles: `${CUBE}f 1 2 3\nf 3 4 1\n`,
  'polygons and negative indices': `${CUBE}f 1 2 3 4\nf -8 -7 -6 -5 -4\n`,
  'uvs and normals': `${CUBE}${UVS}${NORMALS}f 1/1/1 2/2/2 3/3/3\nf 1//3 2//3 4//1\n`,
  'uvs in some faces': `${CUBE}${UVS}f 1/1 2/2 3/3\nf 1 2 4\n`,
  colors: 'v 0 0 0 1 0.5 0\nv 1 0 0 0.2 0.02 1\nv 1 1 0 0 0 0\nf 1 2 3\n',
  objects: `o a\n${CUBE}f 1 2 3\no b\nv 5 5 5\nf 1 2 9\no empty\n`,
  'groups in objects': `o a\n${CUBE}g left\nf 1 2 3\ng right\nf 1 2 4\n`,
  'faces before a name': `${CUBE}f 1 2 3\no late\nf 2 3 4\n`,
  materials: `mtllib a.mtl\n${CUBE}usemtl red\nf 1 2 3\nusemtl blue\nf 1 2 3 4\nusemtl red\nf 5 6 7\n`,
  'materials of the object before': `${CUBE}o a\nusemtl red\nf 1 2 3\no b\nf 1 2 4\nusemtl blue\nf 1 2 5\n`,
  'materials without faces': `${CUBE}usemtl none\nusemtl red\nf 1 2 3\nusemtl last\n`,
  smoothing: `${CUBE}o a\ns off\nf 1 2 3\no b\ns 1\nusemtl red\nf 1 2 4\n`,
  lines: `${CUBE}o edges\nl 1 2 3 4\nl 5 6\n`,
  points: `${CUBE}p 1 3 5\n`,
  'positions alone': CUBE,
  'positions with colors': 'v 0 0 0 1 0.5 0\nv 1 0 0 0.2 0.02 1\n',
  'line ends and continuations': `${CUBE.replaceAll('\n', '\r\n')}f 1 2 \\\r\n3\r\n`,
  'odd spaces and comments': `#x\n\t ${CUBE.replace('0 0 0', '0\t 0  0 ')}\n  f  1  2   3  \n`,
  'names with spaces': `${CUBE}o a name  \nusemtl two words\nf 1 2 3\n`,
  nothing: '# empty\n',
};

for (const [name, text] of Object.entries(OBJ)) {
  test(`OBJ: ${name}`, async () => {
    const theirs = new TheirOBJLoader().parse(text);
    for (const Ours of [OBJLoader, SmallOBJLoader]) {
      sameGroup(new Ours().parse(text), theirs);
      sameGroup(await loaded(Ours, text, 'a.obj'), theirs);
    }
  });
}

test('OBJ: thousands of faces in many blocks', () => {
  let text = '';
  for (let at = 0; at < 20000; at++) text += `v ${at % 150} ${Math.floor(at / 150)} ${(at * 7) % 13}\nvn 0 ${at % 3} 1\n`;
  for (let at = 1; at < 19000; at++) text += `f ${at}//${at} ${at + 1}//${at} ${at + 151}//1 ${at + 150}//2\n`;
  sameGroup(new OBJLoader().parse(text), new TheirOBJLoader().parse(text));
});

test('OBJ: materials that were set are used, also for lines and points', async () => {
  const three = await import('three');
  const made = {};
  const materials = { create: (name) => (made[name] ??= new three.MeshPhongMaterial({ name, color: 0x336699 })) };
  const text = `o a\n${CUBE}usemtl red\nf 1 2 3\no b\nl 1 2\no c\np 1 2\n`;
  const [ours, theirs] = [OBJLoader, TheirOBJLoader].map((Kind) => new Kind().setMaterials(materials).parse(text));
  sameGroup(ours, theirs);
  assert.equal(ours.children[0].material, made.red);
  assert.equal(ours.children[1].material.color.getHex(), 0x336699);
});

test('OBJ: faces, lines and points of one object are drawn apart', () => {
  const { children } = new OBJLoader().parse(`${CUBE}${UVS}o all\nusemtl red\nf 1/1 2/2 3/3\nl 1 2 3\nusemtl blue\nf 2/1 3/2 4/3\np 7\n`);
  const found = children.map(({ type, name, geometry, material }) => [
    type,
    name,
    geometry.attributes.position.count,
    Object.keys(geometry.attributes).sort().join(),
    [material].flat().map(({ name }) => name).join(),
  ]);
  assert.deepEqual(found, [
    ['Mesh', 'all', 6, 'normal,position,uv', 'red,blue'],
    ['LineSegments', 'all', 4, 'position', 'red'],
    ['Points', 'all', 1, 'position', 'blue'],
  ]);
});

test('OBJ: what breaks the rules is left out, and the rest is there', () => {
  const group = new OBJLoader().parse(`${CUBE}f 1 2 3\nf 1 2 99\nf 1 x 3\nf 1 2 4\n`);
  assert.equal(group.children[0].geometry.attributes.position.count, 6);
});

const PLY = (properties, rows, faces = '') =>
  `ply\nformat ascii 1.0\nelement vertex ${rows.length}\n${properties.map((it) => `property ${it}\n`).join('')}` +
  `${faces && `element face ${faces.split('\n').length}\nproperty list uchar int vertex_indices\n`}end_header\n` +
  `${rows.join('\n')}\n${faces && `${faces}\n`}`;
const XYZ = ['float x', 'float y', 'float z'];
const SQUARE = ['0 0 0', '1 0 0', '1 1 0', '0 1 0.5'];

const PLYS = {
  triangles: PLY(XYZ, SQUARE, '3 0 1 2\n3 2 3 0'),
  quads: PLY(XYZ, SQUARE, '4 0 1 2 3\n3 0 1 2'),
  points: PLY(XYZ, SQUARE),
  'normals and colors': PLY(
    [...XYZ, 'float nx', 'float ny', 'float nz', 'uchar red', 'uchar green', 'uchar blue'],
    SQUARE.map((row, at) => `${row} 0 0 1 ${at * 80} 5 255`),
    '3 0 1 2',
  ),
  uvs: PLY([...XYZ, 'float s', 'float t'], SQUARE.map((row) => `${row} 0.25 0.75`), '3 0 1 2'),
};

for (const [name, text] of Object.entries(PLYS)) {
  test(`PLY: ${name}`, async () => {
    const theirs = new TheirPLYLoader().parse(text);
    for (const Ours of [PLYLoader, SmallPLYLoader]) {
      sameGeometry(new Ours().parse(text), theirs);
      sameGeometry(await loaded(Ours, text, 'a.ply'), theirs);
    }
  });
}

const FACET = (z) => `facet normal 0 0 1\nouter loop\nvertex 0 0 ${z}\nvertex 1 0 ${z}\nvertex 0 1 ${z}\nendloop\nendfacet\n`;

/** Binary STL: a header, a count, and 50 bytes for each triangle. */
function binary(triangles) {
  const bytes = new DataView(new ArrayBuffer(84 + 50 * triangles.length));
  bytes.setUint32(80, triangles.length, true);
  triangles.forEach((numbers, at) => numbers.forEach((value, i) => bytes.setFloat32(84 + 50 * at + 4 * i, value, true)));
  return bytes.buffer;
}

const STLS = {
  text: `solid a\n${FACET(0)}${FACET(2)}endsolid a\n`,
  'two solids': `solid a\n${FACET(0)}endsolid a\nsolid b\n${FACET(1)}${FACET(2)}endsolid b\n`,
  binary: binary([
    [0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0],
    [0, 1, 0, 5, 5, 5, 6, 5, 5, 5, 5, 6],
  ]),
};

/** The same with colors: those of the header, and attributes that are colors themselves. */
function colored(header, attributes) {
  const triangle = [0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0];
  const buffer = binary(attributes.map(() => triangle));
  new Uint8Array(buffer).set(header);
  attributes.forEach((value, at) => new DataView(buffer).setUint16(84 + 50 * at + 48, value, true));
  return buffer;
}

const COLOR = [...new TextEncoder().encode('a COLOR='), 200, 3, 90, 128];
STLS.colors = colored(COLOR, [0x8000, 0, 31, 17 << 5, 0x7fff]);
STLS['attributes that are no colors'] = colored([], [31, 17 << 5]);
STLS['many triangles'] = binary(Array.from({ length: 11000 }, (_, at) => Array.from({ length: 12 }, (_, i) => (at * 31 + i) % 97)));

for (const [name, data] of Object.entries(STLS)) {
  test(`STL: ${name}`, async () => {
    const theirs = new TheirSTLLoader().parse(data);
    for (const Ours of [STLLoader, SmallSTLLoader]) {
      sameGeometry(new Ours().parse(data), theirs);
      sameGeometry(await loaded(Ours, data, 'a.stl'), theirs);
    }
  });
}

test('two loads of one file at the same time give the same, and the manager waits for both', async () => {
  const { LoadingManager } = await import('three');
  const order = [];
  const manager = new LoadingManager(() => order.push('manager'));
  const url = URL.createObjectURL(new Blob([OBJ.triangles]));
  const loads = [0, 1].map(() => new OBJLoader(manager).loadAsync(url).then((group) => (order.push('model'), group)));
  const groups = await Promise.all(loads);
  await new Promise((resolve) => setTimeout(resolve));
  groups.forEach((group) => sameGroup(group, new TheirOBJLoader().parse(OBJ.triangles)));
  assert.equal(order.filter((it) => it === 'model').length, 2);
  URL.revokeObjectURL(url);
});

test('PLY without vertices, and STL with bytes behind its triangles', async () => {
  const empty = 'ply\nformat ascii 1.0\nend_header\n';
  assert.equal(new PLYLoader().parse(empty).attributes.position.count, 0);
  assert.equal(new STLLoader().parse(STLS.binary).groups.length, 0);
});

test('files of other programs', () => {
  const folder = process.env.POLYHAUL_TESTDATA;
  const files = readdirSync(folder, { recursive: true }).filter((name) => name.endsWith('.obj'));
  let compared = 0;
  for (const name of files) {
    const text = readFileSync(`${folder}/${name}`, 'utf8');
    // three.js reads none of these as the format says: numbers that are none, free forms, lines and faces in one
    // object.
    const isOdd = /^\s*(l|p|curv|surf|call|vp)\s/m.test(text) || /\r(?!\n)/.test(text) || name.includes('bad');
    if (isOdd) continue;
    const [ours, theirs] = [OBJLoader, TheirOBJLoader].map((Kind) => quietly(() => new Kind().parse(text)));
    if (theirs.children.some(({ geometry }) => !geometry.attributes.position.array.every(Number.isFinite))) continue;
    if (theirs.children.some(({ geometry }) => isRagged(geometry))) continue;
    sameGroup(ours, theirs, name);
    compared++;
  }
  assert.ok(compared >= 10, `${compared} files`);
});

test('what is left out keeps its number, and is told', async () => {
  const vertices = 'v 0 0 0\nv 1 0 abc\nv 2 0 0\nv 3 1 0\nv 4 0 0\n';
  const uvs = 'vt 0 0\nvt x 0\nvt 1 0\nvt 1 1\nvt 9 9\n';
  const cases = [
    // The faces that use the vertex are left out, those behind it are as they were.
    [`${vertices}f 1 3 4\nf 1 2 3\n`, 'position', [0, 0, 0, 2, 0, 0, 3, 1, 0]],
    [`${vertices}${uvs}f 1/1 3/3 4/4\n`, 'uv', [0, 0, 1, 0, 1, 1]],
  ];
  for (const [text, attribute, values] of cases) {
    for (const Ours of [OBJLoader, SmallOBJLoader]) {
      for (const parse of [() => new Ours().parse(text), () => loaded(Ours, text, 'a.obj')]) {
        const [group, told] = await heard(parse);
        const [{ geometry }] = group.children;
        assert.deepEqual([...geometry.attributes[attribute].array], values);
        assert.match(told[0], /line \d+: `\w+` is not a number/);
        assert.ok(group.userData.polyhaul.warningCount > 0);
      }
    }
  }
  const [fine, told] = await heard(() => new OBJLoader().parse(`${CUBE}f 1 2 3\n`));
  assert.deepEqual([told, fine.userData], [[], {}]);
});

test('a bad row of PLY keeps its number', async () => {
  const header = 'element vertex 5\nproperty float x\nproperty float y\nproperty float z\n';
  const faces = 'element face 2\nproperty list uchar int vertex_indices\n';
  const rows = '0 0 0\n1 0 abc\n2 0 0\n3 1 0\n4 0 0\n3 0 2 3\n3 0 1 2\n';
  const text = `ply\nformat ascii 1.0\n${header}${faces}end_header\n${rows}`;
  for (const Ours of [PLYLoader, SmallPLYLoader]) {
    for (const parse of [() => new Ours().parse(text), () => loaded(Ours, text, 'a.ply')]) {
      const [geometry, told] = await heard(parse);
      assert.deepEqual([...geometry.index.array], [0, 1, 2]);
      assert.deepEqual([...geometry.attributes.position.array], [0, 0, 0, 2, 0, 0, 3, 1, 0, 4, 0, 0]);
      assert.match(told[0], /line \d+: skipped a row: `abc` is not a valid value/);
    }
  }
});

test('a file that ends too early, or is none, is an error', async () => {
  const stl = new Uint8Array(84 + 66);
  stl[80] = 2;
  const page = '<!doctype html><html><body>404</body></html>';
  const cases = [
    [[STLLoader, SmallSTLLoader], stl.buffer, /triangle 2 of 2; expected 184 bytes/],
    [[OBJLoader, SmallOBJLoader], page, /no OBJ statement.*web page/],
    [[OBJLoader, SmallOBJLoader], '\u0000\u0003 \u00ff\n', /no OBJ statement/],
  ];
  for (const [kinds, data, words] of cases) {
    for (const Ours of kinds) {
      assert.throws(() => new Ours().parse(data), words);
      await assert.rejects(loaded(Ours, data, 'a'), words);
    }
  }
});

test('loading is given up by the loader or its manager, and others go on', async () => {
  const { LoadingManager } = await import('three');
  const url = URL.createObjectURL(new Blob([OBJ.triangles]));
  const manager = new LoadingManager();
  const loader = new OBJLoader(manager);
  for (const one of [loader, manager]) {
    const given = loader.loadAsync(url);
    const other = new OBJLoader().loadAsync(url);
    one.abort();
    const next = loader.loadAsync(url);
    await assert.rejects(given, { name: 'AbortError' });
    for (const group of await Promise.all([other, next])) assert.equal(group.children.length, 1);
  }
});

test('`parse` needs no preparation', () => {
  const text = `import { PLYLoader } from 'polyhaul/three';
    import { OBJExporter } from 'polyhaul/exporters';
    import { Mesh } from 'three';
    const ply = 'ply\\nformat ascii 1.0\\nelement vertex 1\\nproperty float x\\nproperty float y\\nproperty float z\\nend_header\\n1 2 3\\n';
    console.log(new OBJExporter().parse(new Mesh(new PLYLoader().parse(ply))));`;
  const told = execFileSync('node', ['--input-type=module', '--eval', text], { encoding: 'utf8' });
  assert.match(told, /^v 1 2 3$/m);
});

/** The result, and the warnings on the console. */
async function heard(run) {
  const { warn } = console;
  const told = [];
  console.warn = (text) => told.push(text);
  try {
    return [await run(), told];
  } finally {
    console.warn = warn;
  }
}

/** three.js gives attributes of other lengths where only some corners have a normal or a color. */
function isRagged({ attributes }) {
  return Object.values(attributes).some(({ count }) => count !== attributes.position.count);
}

function quietly(run) {
  const { warn } = console;
  console.warn = () => {};
  try {
    return run();
  } finally {
    console.warn = warn;
  }
}

/** What a loader gives for a file that it loads: by a URL that holds the data. */
async function loaded(Kind, data, name) {
  const url = URL.createObjectURL(new Blob([data]));
  try {
    return await new Kind().loadAsync(url, () => {}, name);
  } finally {
    URL.revokeObjectURL(url);
  }
}

/** Strictly, unless it is a file: of an `s` and a `usemtl` between the same faces, we do not know which came first. */
function sameGroup(ours, theirs, name = '') {
  const isStrict = name === '';
  assert.deepEqual(ours.materialLibraries, theirs.materialLibraries, name);
  const kinds = (group) => group.children.map(({ type, name }) => [type, name]);
  assert.deepEqual(kinds(ours), kinds(theirs), name);
  ours.children.forEach((own, at) => {
    const other = theirs.children[at];
    sameGeometry(own.geometry, other.geometry, name);
    const materials = ({ material }) =>
      [material].flat().map(({ type, name, flatShading, vertexColors, size }) => [type, name, isStrict && flatShading, vertexColors, size]);
    assert.deepEqual(materials(own), materials(other), name);
  });
}

function sameGeometry(ours, theirs, name = '') {
  assert.deepEqual(Object.keys(ours.attributes).sort(), Object.keys(theirs.attributes).sort(), name);
  for (const [kind, { array, itemSize }] of Object.entries(theirs.attributes)) {
    const own = ours.attributes[kind];
    assert.equal(own.itemSize, itemSize, name);
    assert.equal(own.array.length, array.length, `${name} ${kind}`);
    // Bytes of three.js are our floats, not rounded.
    const { normalized } = theirs.attributes[kind];
    own.array.forEach((value, at) => {
      const wanted = normalized ? array[at] / 255 : array[at];
      const most = normalized ? 0.5 / 255 + 1e-6 : 1e-5 * Math.max(1, Math.abs(wanted));
      assert.ok(value === wanted || Math.abs(value - wanted) <= most, `${name} ${kind} ${at}: ${value}, ${wanted}`);
    });
  }
  const index = ({ index }) => index && [index.array.constructor.name, [...index.array]];
  assert.deepEqual(index(ours), index(theirs), name);
  assert.deepEqual(ours.groups, theirs.groups, name);
  assert.deepEqual(ours.userData.groupNames, theirs.userData.groupNames, name);
  assert.deepEqual([ours.hasColors, ours.alpha], [theirs.hasColors, theirs.alpha], name);
}
