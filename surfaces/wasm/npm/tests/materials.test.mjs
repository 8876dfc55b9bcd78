// Our MTLLoader gives what three.js' own gives, and the meaning of statements that three.js does not understand.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readFileSync, readdirSync } from 'node:fs';
import { BackSide, ClampToEdgeWrapping, LoadingManager, MirroredRepeatWrapping, RepeatWrapping, Texture } from 'three';
import { MTLLoader as TheirMTLLoader } from 'three/addons/loaders/MTLLoader.js';
import { OBJLoader as TheirOBJLoader } from 'three/addons/loaders/OBJLoader.js';
import { MTLLoader, OBJLoader } from 'polyhaul/three';

/** A manager whose textures know where they come from: there are no images in Node. */
function manager() {
  const load = (url) => Object.assign(new Texture(), { url });
  return new LoadingManager().addHandler(/^/, { load, setCrossOrigin() {} });
}

/** A library as each of the two loaders reads it. */
function both(text, path, options = {}) {
  return [MTLLoader, TheirMTLLoader].map((Kind) => new Kind(manager()).setMaterialOptions(options).parse(text, path));
}

const MAPS = ['map', 'specularMap', 'emissiveMap', 'normalMap', 'bumpMap', 'displacementMap', 'alphaMap'];
const VALUES = ['type', 'name', 'side', 'shininess', 'opacity', 'transparent', 'bumpScale', 'displacementBias', 'displacementScale'];

function facts(material) {
  const found = Object.fromEntries(VALUES.map((key) => [key, material[key]]));
  for (const key of ['color', 'specular', 'emissive']) found[key] = material[key].toArray();
  for (const key of MAPS) {
    const map = material[key];
    if (map) found[key] = [map.url, map.repeat.toArray(), map.offset.toArray(), map.wrapS, map.wrapT, map.colorSpace];
  }
  return found;
}

function same([ours, theirs], name) {
  assert.deepEqual({ ...ours.materialsInfo }, theirs.materialsInfo, name);
  for (const creator of [ours, theirs]) creator.preload();
  const all = ({ materials }) => Object.entries(materials).map(([name, material]) => [name, facts(material)]);
  assert.deepEqual(all(ours), all(theirs), name);
  assert.deepEqual(ours.getAsArray().map(facts), theirs.getAsArray().map(facts), name);
  for (const known of Object.keys(theirs.materialsInfo)) assert.equal(ours.getIndex(known), theirs.getIndex(known), name);
}

const LIBRARY = `# a comment
newmtl red paint
  Ka 0.1 0.1 0.1
Kd 1 0.5 0
Ks 0.25 0.25 0.25
Ke 0 0 0.125
Ns 96.5
Ni 1.45
d 0.5
illum 2
Pr 0.3
map_Kd -s 2 3 1 -o 0.5 0.25 0 wood chips.png
map_Ks a.png
map_Ke b.png
map_d c.png
norm d.png
disp -mm 0.25 2 e.png
map_Bump -bm 0.75 f.png
bump g.png
NEWMTL glass
Tr 0.75
map_Kd http://example.com/glass.png
newmtl nothing
`;

test('every statement that three.js knows', () => {
  same(both(LIBRARY, 'models/'));
  same(both(LIBRARY.replaceAll('\n', '\r\n'), undefined));
  same(both('', ''));
});

test('options', () => {
  const bytes = 'newmtl a\nKd 255 0 51\nKs 0 0 0\nKe 0 0 0\nTr 0.25\nmap_Kd a.png\n';
  for (const options of [{ normalizeRGB: true }, { ignoreZeroRGBs: true }, { side: BackSide, wrap: MirroredRepeatWrapping }]) {
    same(both(bytes, 'x/', options));
  }
  same(both(bytes, 'x/', { invertTrProperty: true }));
});

test('libraries of other programs', () => {
  const folder = process.env.POLYHAUL_TESTDATA;
  const files = readdirSync(folder, { recursive: true }).filter((name) => name.endsWith('.mtl'));
  let compared = 0;
  for (const name of files) {
    const text = readFileSync(`${folder}/${name}`, 'utf8');
    const pair = both(text, `${name}/`);
    const isOdd = pair[0].warnings.length > 0 || /\\$|\t| -(?:clamp|type|imfchan) /m.test(text);
    if (isOdd) {
      pair[0].preload();
      continue;
    }
    same(pair, name);
    compared++;
  }
  assert.ok(compared >= 30, `${compared} files`);
});

test('generated libraries', () => {
  let state = 7;
  const random = (most) => (state = (state * 48271) % 2147483647) % most;
  const number = () => ['0', '1', '.5', '0.25', '1.', '-2', '1e-3', '7.5E1', '+0.125'][random(9)];
  const numbers = (count) => Array.from({ length: count }, number).join(['  ', ' '][random(2)]);
  const options = () => {
    const all = ['', `-bm ${number()} `, `-s ${numbers(3)} `, `-o ${numbers(3)} `, `-mm ${numbers(2)} `];
    const at = random(5);
    // Each once.
    return all[at] + ['', all[(at + 1 + random(4)) % 5]][random(2)];
  };
  const file = () => ['a.png', 'two words.jpg', '../up/b.tga', 'C:\\c\\d.bmp', 'https://example.com/e.png'][random(5)];
  const line = () => {
    const key = ['Ka', 'Kd', 'KS', 'ke', 'Ns', 'd', 'Tr', 'Ni', 'illum', 'Pm', 'map_Kd', 'map_Ks', 'map_Ke', 'norm', 'bump'];
    const more = ['map_Bump', 'disp', 'map_d', 'map_Pr', 'refl', '# note', ''];
    const one = [...key, ...more][random(key.length + more.length)];
    if (/^k/i.test(one)) return `${one} ${numbers(3)}`;
    if (/^(map|norm|bump|disp|refl)/i.test(one)) return `${one} ${options()}${file()}`;
    return one && `${one} ${number()}`;
  };
  for (let library = 0; library < 300; library++) {
    let text = '';
    for (let material = 0; material < 4; material++) {
      text += `newmtl ${['a', 'b', 'a name', '12'][random(4)]}\n`;
      for (let at = random(12); at > 0; at--) text += `${['', '  ', '\t'][random(3)]}${line()}${['', ' '][random(2)]}\n`;
    }
    same(both(text, 'p/', { ignoreZeroRGBs: random(2) === 1 }), text);
  }
});

test('what three.js does not understand', () => {
  const text = `newmtl\ttabs
Kd\t0.5
map_Kd -clamp on -imfchan r -s 2 2 clamped.png
newmtl later
Kd 1 \\
  0 \\
  0
map_Kd behind.png -s 4 4 1
d -halo 0.25
newmtl constructor
Ns 5
`;
  const creator = new MTLLoader(manager()).parse(text, '');
  assert.deepEqual(creator.warnings, []);
  const { map, color } = creator.create('tabs');
  assert.deepEqual([map.url, map.wrapS, map.repeat.toArray()], ['clamped.png', ClampToEdgeWrapping, [2, 2]]);
  assert.ok(color.r === color.g && color.g === color.b && color.r < 0.5);
  const later = creator.create('later');
  assert.deepEqual([later.color.toArray(), later.opacity], [[1, 0, 0], 0.25]);
  assert.deepEqual([later.map.url, later.map.wrapS, later.map.repeat.toArray()], ['behind.png', RepeatWrapping, [4, 4]]);
  assert.equal(creator.create('constructor').shininess, 5);
  assert.equal(creator.create('hasOwnProperty').name, 'hasOwnProperty');
});

test('what breaks the rules has no effect, and is told', () => {
  const text = 'Kd 1 0 0\nnewmtl a\nKd 1 x 0\nNs much\nmap_Kd -s 1 1 1\nKs spectral a.rfl 1\nnewmtl a\nnewmtl\n';
  const { warnings, ...creator } = new MTLLoader(manager()).parse(text);
  assert.deepEqual(
    warnings.map(({ line, code }) => [line, code]),
    [
      [1, 'statement-outside-material'],
      [3, 'bad-number'],
      [4, 'bad-number'],
      [5, 'missing-file-name'],
      [6, 'bad-number'],
      [7, 'duplicate-material'],
      [8, 'missing-name'],
    ],
  );
  assert.deepEqual(creator.materialsInfo.a, { name: 'a' });
  const material = new MTLLoader(manager()).parse(text.replace('newmtl a\nnewmtl\n', '')).create('a');
  assert.deepEqual([material.color.toArray(), material.shininess, material.map], [[1, 1, 1], 30, null]);
});

test('names that are not UTF-8 are those of the OBJ file', async () => {
  const latin = (text) => Uint8Array.from(text, (sign) => sign.charCodeAt(0));
  const url = URL.createObjectURL(new Blob([latin('newmtl Glas gr\xfcn\nKd 0 1 0\n# ')]));
  const creator = await new MTLLoader(manager()).loadAsync(url);
  URL.revokeObjectURL(url);
  const obj = latin('v 0 0 0\nv 1 0 0\nv 0 1 0\nusemtl Glas gr\xfcn\nf 1 2 3\n');
  const { children } = new OBJLoader().setMaterials(creator).parse(obj.buffer);
  assert.equal(children[0].material, creator.materials['Glas grün']);
  assert.deepEqual(children[0].material.color.toArray(), [0, 1, 0]);
});

test('both OBJLoaders take it, and textures are found where the caller says', () => {
  const obj = 'o faces\nv 0 0 0\nv 1 0 0\nv 0 1 0\nusemtl glass\nf 1 2 3\no edges\nl 1 2\n';
  for (const Kind of [OBJLoader, TheirOBJLoader]) {
    const creator = new MTLLoader(manager()).setResourcePath('textures/').parse(LIBRARY, 'unused/');
    const { children } = new Kind().setMaterials(creator).parse(obj);
    assert.equal(children[0].material, creator.create('glass'));
    assert.equal(children[1].material.opacity, 0.25);
    assert.equal(creator.create('red paint').map.url, 'textures/wood chips.png');
  }
});

test('a library that is not there is an error', async () => {
  await assert.rejects(new MTLLoader().loadAsync('data:nonsense'));
});
