// The STL loader for three.js, with a smaller module that reads only STL.
//
//     import { STLLoader } from 'polyhaul/stl';

import { STLLoader as Shared } from './loaders.js';

export class STLLoader extends Shared {
  get module() {
    return new URL('./polyhaul-stl.wasm', import.meta.url);
  }
}
