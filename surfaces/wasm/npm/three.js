// Loaders for three.js: change the import, and nothing else. One module reads all of their formats; `polyhaul/obj`,
// `polyhaul/ply` and `polyhaul/stl` have smaller ones.
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
