// Our GLTFLoader gives what three.js' own gives, whatever is in the file, and reads compressed vertices as it is.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readFileSync } from 'node:fs';
import { GLTFLoader as TheirGLTFLoader } from 'three/addons/loaders/GLTFLoader.js';
import { MeshoptDecoder } from 'three/addons/libs/meshopt_decoder.module.js';
import { GLTFLoader } from 'polyhaul/gltf';

globalThis.self ??= globalThis;
globalThis.ProgressEvent ??= class {};

const FOLDER = `${process.env.POLYHAUL_TESTDATA}/glb`;
const bytesOf = (name) => new Uint8Array(readFileSync(`${FOLDER}/${name}`)).buffer;

/** A triangle that moves, bends and morphs: two joints, a target, and an animation of all three. */
function moving() {
  const numbers = [
    [0, 0, 0, 1, 0, 0, 0, 1, 0],
    [0, 0, 1, 0, 0, 1, 0, 0, 1],
    [1, 0, 0, 0, 0.5, 0.5, 0, 0, 0, 1, 0, 0],
    [0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0],
    [0, 1],
    [0, 0, 0, 0, 0, 5],
    [0, 1],
  ];
  const widths = ['VEC3', 'VEC3', 'VEC4', 'VEC4', 'SCALAR', 'VEC3', 'SCALAR'];
  const per = { VEC3: 3, VEC4: 4, SCALAR: 1 };
  let byteOffset = 0;
  const parts = numbers.map((values, at) => (at === 3 ? Uint16Array : Float32Array).from(values));
  const bufferViews = parts.map(({ byteLength }) => ({ buffer: 0, byteOffset: (byteOffset += byteLength) - byteLength, byteLength }));
  const accessors = parts.map((values, at) => ({
    bufferView: at,
    componentType: at === 3 ? 5123 : 5126,
    count: values.length / per[widths[at]],
    type: widths[at],
    ...(widths[at] !== 'VEC4' && { min: Array(per[widths[at]]).fill(0), max: Array(per[widths[at]]).fill(5) }),
  }));
  const whole = Buffer.concat(parts.map((part) => Buffer.from(part.buffer)));
  const attributes = { POSITION: 0, WEIGHTS_0: 2, JOINTS_0: 3 };
  const json = {
    asset: { version: '2.0', generator: 'test' },
    scene: 0,
    scenes: [{ nodes: [0, 1, 3], name: 'all', extras: { of: 'ours' } }],
    nodes: [
      { mesh: 0, skin: 0, name: 'body' },
      { name: 'hip', children: [2] },
      { name: 'knee', translation: [0, 1, 0] },
      { camera: 0 },
    ],
    cameras: [{ type: 'perspective', perspective: { yfov: 1, znear: 0.1, zfar: 10 } }],
    skins: [{ joints: [1, 2] }],
    meshes: [{ primitives: [{ attributes, targets: [{ POSITION: 1 }], material: 0 }], weights: [0.25] }],
    materials: [{ name: 'paint', pbrMetallicRoughness: { baseColorFactor: [1, 0.5, 0, 1], metallicFactor: 0 } }],
    animations: [
      {
        name: 'move',
        samplers: [{ input: 4, output: 5 }, { input: 4, output: 6 }],
        channels: [
          { sampler: 0, target: { node: 2, path: 'translation' } },
          { sampler: 1, target: { node: 0, path: 'weights' } },
        ],
      },
    ],
    buffers: [{ byteLength: whole.length, uri: `data:application/octet-stream;base64,${whole.toString('base64')}` }],
    bufferViews,
    accessors,
  };
  return JSON.stringify(json);
}

/** A result as JSON, without the identities that three.js draws by chance. */
function facts({ scene, scenes, cameras, animations, asset, userData }) {
  const ids = new Map();
  const known = (id) => ids.get(id) ?? ids.set(id, `id ${ids.size}`).get(id);
  const found = { scenes: scenes.map((one) => one.toJSON()), at: scenes.indexOf(scene), asset, userData };
  found.cameras = cameras.map(({ type, fov }) => [type, fov]);
  found.animations = animations.map(({ name, tracks }) => [name, tracks.map(({ times, values, name }) => [name, [...times], [...values]])]);
  return JSON.parse(JSON.stringify(found).replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, known));
}

/** Images cannot be decoded in Node: files that have one are read in browsers alone. */
const FILES = ['good/quad.glb', 'good/nodes.glb', 'good/attributes.glb', 'good/data_uri.gltf', 'good/meshopt.glb', 'programs/three.glb'];

for (const name of FILES) {
  test(`glTF: ${name}`, async () => {
    const theirs = await new TheirGLTFLoader().setMeshoptDecoder(MeshoptDecoder).parseAsync(bytesOf(name), '');
    const ours = await new GLTFLoader().parseAsync(bytesOf(name), '');
    assert.deepEqual(facts(ours), facts(theirs));
    let vertices = 0;
    ours.scene.traverse(({ geometry }) => (vertices += geometry?.attributes.position.count ?? 0));
    assert.ok(vertices > 0);
  });
}

test('animations, skins, morph targets, cameras and extras are those of three.js', async () => {
  const [ours, theirs] = await Promise.all([GLTFLoader, TheirGLTFLoader].map((Kind) => new Kind().parseAsync(moving(), '')));
  assert.deepEqual(facts(ours), facts(theirs));
  const body = ours.scene.getObjectByName('body');
  assert.deepEqual([body.isSkinnedMesh, body.morphTargetInfluences, ours.animations.length], [true, [0.25], 1]);
});

test('files are loaded, and broken ones are errors', async () => {
  const url = URL.createObjectURL(new Blob([bytesOf('good/meshopt.glb')]));
  const { scene } = await new GLTFLoader().loadAsync(url);
  URL.revokeObjectURL(url);
  assert.ok(scene.children.length > 0);
  for (const name of ['bad/json.glb', 'bad/draco.glb', 'bad/meshopt_version.glb']) {
    await assert.rejects(new GLTFLoader().parseAsync(bytesOf(name), ''), name);
  }
});
