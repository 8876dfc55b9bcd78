// The OBJ loader for three.js, with a smaller module that reads only OBJ.
//
//     import { OBJLoader } from 'polyhaul/obj';

import { OBJLoader as Shared } from './loaders.js';

export { MTLLoader } from './materials.js';
export class OBJLoader extends Shared {
  get module() {
    return new URL('./polyhaul-obj.wasm', import.meta.url);
  }
}
