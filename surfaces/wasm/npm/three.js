// Loaders for three.js: change only the import. One module reads all of these formats; `polyhaul/obj`, `polyhaul/ply`
// and `polyhaul/stl` use smaller ones.
//
//     import { OBJLoader } from 'polyhaul/three';

import * as loaders from './loaders.js';

const address = () => new URL('./polyhaul.wasm', import.meta.url);

export { groupOf } from './loaders.js';
export { MTLLoader } from './materials.js';
export class OBJLoader extends loaders.OBJLoader {
  get module() {
    return address();
  }
}
export class PLYLoader extends loaders.PLYLoader {
  get module() {
    return address();
  }
}
export class STLLoader extends loaders.STLLoader {
  get module() {
    return address();
  }
}
