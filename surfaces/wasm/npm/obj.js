// The OBJ loader for three.js, with a smaller module that reads nothing else.
//
//     import { OBJLoader } from 'polyhaul/obj';

import { OBJLoader as Shared } from './loaders.js';
import { prepare } from './polyhaul.js';

// `parse` cannot wait, so the module is ready before this file is.
await prepare('obj');

export { MTLLoader } from './materials.js';
export class OBJLoader extends Shared {
  module = 'obj';
}
