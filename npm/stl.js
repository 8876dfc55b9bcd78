// The STL loader for three.js alone, with a module that reads nothing else, of half the size.
//
//     import { STLLoader } from 'polyhaul/stl';

import { STLLoader as Shared } from './loaders.js';
import { prepare } from './polyhaul.js';

// `parse` cannot wait, so the module is ready before this file is.
await prepare('stl');

export class STLLoader extends Shared {
  module = 'stl';
}
