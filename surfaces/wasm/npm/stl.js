// The STL loader for three.js, with a smaller module that reads nothing else.
//
//     import { STLLoader } from 'polyhaul/stl';

import { STLLoader as Shared } from './loaders.js';
import { prepare } from './polyhaul.js';

// `parse` cannot wait, so the module is ready before this file is.
await prepare('stl');

export class STLLoader extends Shared {
  module = 'stl';
}
