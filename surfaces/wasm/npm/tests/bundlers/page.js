// A page that uses the package as pages do, whoever bundles it. `globalThis.outcome` promises what came of each step.

import { OBJLoader } from 'polyhaul/obj';

const models = new URL(location.href).searchParams.get('models');
const corners = (group) => group.children[0].geometry.attributes.position.count;
const errorOf = (promise) => promise.then(() => 'no error', ({ message }) => message);

const STEPS = {
  /** Before the module has come. */
  'parse at once': () => corners(new OBJLoader().parse('v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n')),
  loader: async () => corners(await new OBJLoader().loadAsync(`${models}cube.obj`)),
  /** As React does it in its strict mode: an effect is given up, and begun again at once. */
  'mounted twice': async () => {
    const loader = new OBJLoader();
    const first = errorOf(loader.loadAsync(`${models}cube.obj`));
    const [second, other] = [loader.abort(), new OBJLoader()].map((one) => one.loadAsync(`${models}cube.obj`));
    return [/abort/i.test(await first), corners(await second), corners(await other)];
  },
  'no file': () => errorOf(new OBJLoader().loadAsync(`${models}missing.obj`)),
  'a page for a file': () => errorOf(new OBJLoader().loadAsync(`${models}page.obj`)),
  'modules of one format': () => loaded(),
  read: async () => {
    const { read } = await import('polyhaul');
    const scenes = await Promise.all([read(`${models}cube.obj`), read(new Blob(['v 1 2 3\n']), { format: 'obj' })]);
    return scenes.map(({ counts }) => counts.positions);
  },
  'in parts': async () => {
    const { draw } = await import('polyhaul');
    const text = `v 0 0 0\nv 1 0 0\nv 0 1 0\n${'f 1 2 3\n'.repeat(2_100_000)}`;
    const { shapes } = await draw(new Blob([text]), { format: 'obj', workers: 2 });
    return shapes[0].corners;
  },
  'other errors': async () => {
    const { read } = await import('polyhaul');
    const signal = AbortSignal.abort(new Error('given up'));
    const sources = [`${models}missing.obj`, `${models}page.obj`, `${models}closed.obj`, 'http://127.0.0.1:1/a.obj'];
    return Promise.all([...sources.map((url) => errorOf(read(url))), errorOf(read(`${models}cube.obj`, { signal }))]);
  },
  'modules that read': () => loaded(),
  convert: async () => {
    const { convert, dispose } = await import('polyhaul');
    const { PLYLoader } = await import('polyhaul/three');
    dispose();
    const { blob } = await convert(`${models}cube.obj`, 'cube.ply');
    const url = URL.createObjectURL(blob);
    return (await new PLYLoader().loadAsync(url)).index.count;
  },
  export: async () => {
    const { OBJExporter } = await import('polyhaul/exporters');
    const group = await new OBJLoader().loadAsync(`${models}cube.obj`);
    const texts = [new OBJExporter().parse(group), await new OBJExporter().parseAsync(group)];
    return texts.map((text) => text.match(/^f /gm).length);
  },
  gltf: async () => typeof (await import('polyhaul/gltf')).GLTFLoader,
  'all modules': () => loaded(),
};

/** The sizes of the modules that were loaded so far. */
function loaded() {
  const modules = performance.getEntriesByType('resource').filter(({ name }) => new URL(name).pathname.endsWith('.wasm'));
  return [...new Set(modules.map(({ decodedBodySize }) => decodedBodySize))];
}

async function main() {
  const outcome = {};
  for (const [name, step] of Object.entries(STEPS)) {
    try {
      outcome[name] = await step();
    } catch (error) {
      outcome[name] = `${error.stack ?? error}`;
    }
  }
  return outcome;
}

globalThis.outcome = main();
