import type { Scene, Shape } from './polyhaul.js';
import type { BufferGeometry, Group, Loader, LoadingManager, Material } from 'three';

/** Wavefront OBJ as a group of meshes, lines and points. */
export class OBJLoader extends Loader<Group> {
  constructor(manager?: LoadingManager);
  setMaterials(materials: { create(name: string): Material }): this;
  parse(data: ArrayBuffer | string): Group;
}

/** STL, as text or binary: a geometry with a position and a normal for each corner. */
export class STLLoader extends Loader<BufferGeometry> {
  constructor(manager?: LoadingManager);
  parse(data: ArrayBuffer | string): BufferGeometry;
}

/** PLY, as text or binary: a geometry with an index, and the attributes that the file has. */
export class PLYLoader extends Loader<BufferGeometry> {
  constructor(manager?: LoadingManager);
  parse(data: ArrayBuffer | string): BufferGeometry;
}

/** What `draw` read of any file, as a group with its own materials. */
export function groupOf(
  answer: Scene & { shapes: Shape[] },
  addressOf?: (file: string) => string | undefined,
  onImage?: () => void,
): Group;
