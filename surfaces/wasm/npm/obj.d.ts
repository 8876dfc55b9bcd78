export { MTLLoader, OBJLoader } from './three.js';
