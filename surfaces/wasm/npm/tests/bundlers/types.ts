// What the declarations promise, as a program in TypeScript uses it.

import { Group, type BufferGeometry } from 'three';
import { PolyhaulError, convert, dispose, prepare, read, readTables, write, type Scene } from 'polyhaul';
import { OBJExporter } from 'polyhaul/exporters';
import { GLTFLoader } from 'polyhaul/gltf';
import { MTLLoader, OBJLoader } from 'polyhaul/obj';
import { PLYLoader } from 'polyhaul/ply';
import { STLLoader } from 'polyhaul/stl';
import * as all from 'polyhaul/three';

export async function main(file: File): Promise<Float32Array | undefined> {
  await prepare('obj');
  const scene: Scene = await read(file, { signal: AbortSignal.timeout(1000), others: { 'a.mtl': new Blob() } });
  const materials = await new MTLLoader().loadAsync('a.mtl');
  const group: Group = await new OBJLoader().setMaterials(materials).loadAsync('a.obj');
  const geometries: BufferGeometry[] = [await new PLYLoader().loadAsync('a.ply'), new STLLoader().parse('solid')];
  const { scene: gltf } = await new GLTFLoader().loadAsync('a.glb');
  const text: string = await new OBJExporter().parseAsync(gltf.add(group, new all.OBJLoader().parse('')));
  const { blob } = await convert(new URL('file:///a.obj'), 'a.ply');
  await write({ positions: geometries[0]?.getAttribute('position').array ?? [] }, 'a.obj');
  const { tables } = await readTables(blob).catch((error: unknown) => {
    if (error instanceof PolyhaulError) console.log(error.kind, error.line, text);
    throw error;
  });
  new OBJLoader().abort();
  dispose();
  // @ts-expect-error: there is no such module.
  await prepare('fbx');
  return tables.length > 0 ? scene.meshes[0]?.positions : undefined;
}
