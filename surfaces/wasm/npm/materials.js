// MTL for three.js: the materials of a library by name, as from the MTLLoader of three.js. Libraries are parsed here
// instead of by the engine, because `parse` is synchronous and libraries are small. Meshes are in three.js.

import {
  ClampToEdgeWrapping,
  Color,
  DefaultLoadingManager,
  FileLoader,
  FrontSide,
  Loader,
  LoaderUtils,
  MeshPhongMaterial,
  RepeatWrapping,
  SRGBColorSpace,
  TextureLoader,
} from 'three';
import { bytesOf } from './remote.js';

const COLORS = new Set(['ka', 'kd', 'ks', 'ke']);
const NUMBERS = new Set(['ns', 'd', 'tr']);

/** The material parameters that three.js supports, by MTL keyword. */
const COLOR_OF = { kd: 'color', ks: 'specular', ke: 'emissive' };
const MAP_OF = {
  map_kd: 'map',
  map_ks: 'specularMap',
  map_ke: 'emissiveMap',
  norm: 'normalMap',
  map_bump: 'bumpMap',
  bump: 'bumpMap',
  disp: 'displacementMap',
  map_d: 'alphaMap',
};
/** Color maps; other maps are not in sRGB. */
const COLOR_MAPS = new Set(['map', 'emissiveMap']);

/** Options of a map with their maximum count of numbers, and options with a word. */
const NUMBERS_OF = { '-o': 3, '-s': 3, '-t': 3, '-mm': 2, '-bm': 1, '-boost': 1, '-texres': 1 };
const WORD_OPTIONS = new Set(['-blendu', '-blendv', '-clamp', '-cc', '-imfchan', '-type', '-colorspace']);

/** A FileLoader that also works where there is no `ProgressEvent`, as in Node, and then loads files on disk too. */
class AnyFileLoader extends FileLoader {
  load(url, onLoad, onProgress, onError) {
    if (typeof ProgressEvent === 'undefined') this.#load(url, onLoad, onError);
    else super.load(url, onLoad, onProgress, onError);
  }

  async #load(url, onLoad, onError) {
    this.manager.itemStart(url);
    try {
      onLoad(await bytesOf(this.manager.resolveURL((this.path ?? '') + url)));
    } catch (error) {
      onError?.(error);
      this.manager.itemError(url);
    } finally {
      this.manager.itemEnd(url);
    }
  }
}

/** Creates a file loader with the settings of another loader. */
export function fileLoaderOf(loader, responseType) {
  const files = new AnyFileLoader(loader.manager);
  files.setPath(loader.path);
  files.setRequestHeader(loader.requestHeader);
  files.setWithCredentials(loader.withCredentials);
  // Only newer releases have these methods.
  files.setPriority?.(loader.priority);
  files.setCache?.(loader.cache);
  return files.setResponseType(responseType);
}

/** Loads Wavefront MTL as a `MaterialCreator` for `OBJLoader.setMaterials`. */
export class MTLLoader extends Loader {
  load(url, onLoad, onProgress, onError) {
    const path = this.path === '' ? LoaderUtils.extractUrlBase(url) : this.path;
    const loaded = (bytes) => {
      try {
        onLoad(this.parse(bytes, path));
      } catch (error) {
        if (onError) onError(error);
        else console.error(error);
        this.manager.itemError(url);
      }
    };
    fileLoaderOf(this, 'arraybuffer').load(url, loaded, onProgress, onError);
  }

  /** @param {{ side?, wrap?, normalizeRGB?: boolean, ignoreZeroRGBs?: boolean, invertTrProperty?: boolean }} options */
  setMaterialOptions(options) {
    this.materialOptions = options;
    return this;
  }

  /**
   * @param {string | ArrayBuffer} data
   * @param {string} [path] the folder of the textures, unless `setResourcePath` was called
   */
  parse(data, path) {
    const { infos, warnings } = parsed(typeof data === 'string' ? data : decoded(new Uint8Array(data)));
    const creator = new MaterialCreator(this.resourcePath || path, this.materialOptions);
    creator.setCrossOrigin(this.crossOrigin);
    creator.setManager(this.manager);
    const { priority, cache } = this;
    Object.assign(creator, { priority, cache, warnings });
    creator.setMaterials(infos);
    return creator;
  }
}

/** Decodes UTF-8, and invalid lines as Latin-1, as the engine decodes names in OBJ. */
function decoded(bytes) {
  const utf8 = new TextDecoder('utf-8', { fatal: true });
  const text = (part) => {
    try {
      return utf8.decode(part);
    } catch {
      return undefined;
    }
  };
  const lines = function* () {
    for (let start = 0, end; start < bytes.length; start = end) {
      end = bytes.indexOf(10, start) + 1 || bytes.length;
      const line = bytes.subarray(start, end);
      yield text(line) ?? Array.from(line, (byte) => String.fromCharCode(byte)).join('');
    }
  };
  return text(bytes) ?? [...lines()].join('');
}

/** The statements of a library with their line numbers. A line that ends with a backslash continues in the next one. */
function* statements(text) {
  const lines = text.split(/\r\n|\r|\n/);
  for (let at = 0; at < lines.length; at++) {
    const number = at + 1;
    if (lines[at].trimStart().startsWith('#')) continue;
    const parts = [];
    for (; lines[at]?.endsWith('\\'); at++) parts.push(lines[at].slice(0, -1));
    const line = [...parts, lines[at] ?? ''].join(' ').trim();
    const [, key, value] = /^(\S*)\s*([^]*)$/.exec(line);
    if (key) yield { key: key.toLowerCase(), value, number };
  }
}

/**
 * Parses the statements of each material by keyword in lower case: colors as numbers, all others as text. Also returns
 * warnings about invalid statements; an invalid color stays text.
 */
function parsed(text) {
  const infos = Object.create(null);
  const warnings = [];
  let info;
  for (const { key, value, number } of statements(text)) {
    const warn = (code, text) => warnings.push({ line: number, code, text });
    if (key === 'newmtl') {
      if (value === '') warn('missing-name', 'material without a name');
      else if (infos[value]) warn('duplicate-material', `duplicate material \`${value}\`; the last definition is used`);
      info = infos[value] = { name: value };
    } else if (!info) {
      warn('statement-outside-material', `\`${key}\` before the first \`newmtl\``);
    } else if (COLORS.has(key)) {
      info[key] = rgb(value) ?? value;
      if (info[key] === value) warn('bad-number', `\`${value}\` is not a color of three numbers, or one for all three`);
    } else {
      info[key] = value;
      if (NUMBERS.has(key) && numberOf(value) === undefined) warn('bad-number', `\`${value}\` is not a number`);
      else if (MAP_OF[key] && mapOf(value).file === '') warn('missing-file-name', `\`${key}\` without a file name`);
    }
  }
  return { infos, warnings };
}

function rgb(value) {
  const numbers = value.split(/\s+/, 3).map(numberOf);
  if (numbers.includes(undefined) || numbers.length === 2) return undefined;
  return numbers.length === 1 ? Array(3).fill(numbers[0]) : numbers;
}

/** Parses the first word as a number. */
function numberOf(text) {
  const [word] = text.replace(/^-halo\s+/i, '').split(/\s/, 1);
  return word !== '' && Number.isFinite(Number(word)) ? Number(word) : undefined;
}

/** Parses the file and the options of a map. Options precede the file, but some programs write them after it. */
function mapOf(value) {
  const words = value.split(/\s+/);
  const file = [];
  const options = {};
  for (let at = 0; at < words.length; at++) {
    const key = words[at].toLowerCase();
    const most = NUMBERS_OF[key] ?? 0;
    const numbers = [];
    while (numbers.length < most && numberOf(words[at + 1] ?? '') !== undefined) numbers.push(Number(words[++at]));
    if (numbers.length) options[key] = numbers;
    else if (WORD_OPTIONS.has(key) && at + 1 < words.length) options[key] = words[++at].toLowerCase();
    else file.push(words[at]);
  }
  return { file: file.join(' '), options };
}

/** Creates the materials of a library on request, each only once. */
export class MaterialCreator {
  constructor(baseUrl = '', options = {}) {
    const { side = FrontSide, wrap = RepeatWrapping } = options;
    Object.assign(this, { baseUrl, options, side, wrap, crossOrigin: 'anonymous', warnings: [] });
    this.setMaterials({});
  }

  setCrossOrigin(value) {
    this.crossOrigin = value;
    return this;
  }

  setManager(value) {
    this.manager = value;
  }

  /** @param {Record<string, object>} infos the statements of each material by keyword */
  setMaterials(infos) {
    this.materialsInfo = this.convert(infos);
    // Objects without a prototype, because a material may be called `constructor`.
    this.materials = Object.create(null);
    this.nameLookup = Object.create(null);
    this.materialsArray = [];
  }

  /** Converts keywords to lower case, and colors as the options require. */
  convert(infos) {
    const { normalizeRGB, ignoreZeroRGBs } = this.options;
    const converted = Object.create(null);
    for (const [name, info] of Object.entries(infos)) {
      converted[name] = {};
      for (const [keyword, given] of Object.entries(info)) {
        const key = keyword.toLowerCase();
        const isColor = key !== 'ke' && COLORS.has(key) && Array.isArray(given);
        if (isColor && ignoreZeroRGBs && given.every((part) => part === 0)) continue;
        converted[name][key] = isColor && normalizeRGB ? given.map((part) => part / 255) : given;
      }
    }
    return converted;
  }

  preload() {
    for (const name in this.materialsInfo) this.create(name);
  }

  getIndex(name) {
    return this.nameLookup[name];
  }

  getAsArray() {
    Object.keys(this.materialsInfo).forEach((name, at) => {
      this.materialsArray[at] = this.create(name);
      this.nameLookup[name] = at;
    });
    return this.materialsArray;
  }

  /** Returns the material with this name; a default material if the library does not contain it. */
  create(name) {
    return (this.materials[name] ??= new MeshPhongMaterial(this.#parameters(name)));
  }

  #parameters(name) {
    const parameters = { name, side: this.side };
    for (const [key, value] of Object.entries(this.materialsInfo[name] ?? {})) {
      if (value === '') continue;
      if (COLOR_OF[key] && Array.isArray(value)) {
        parameters[COLOR_OF[key]] = new Color().setRGB(...value, SRGBColorSpace);
      } else if (MAP_OF[key]) {
        this.#addMap(parameters, MAP_OF[key], value);
      } else if (NUMBERS.has(key)) {
        this.#setNumber(parameters, key, numberOf(value));
      }
    }
    return parameters;
  }

  #setNumber(parameters, key, number) {
    if (number === undefined) return;
    if (key === 'ns') parameters.shininess = number;
    else {
      const isOpacity = key === 'd' || this.options.invertTrProperty;
      const opacity = isOpacity ? number : 1 - number;
      if (opacity < 1) Object.assign(parameters, { opacity, transparent: true });
    }
  }

  /** The first map of a kind is used. */
  #addMap(parameters, kind, value) {
    const { file, options } = mapOf(value);
    if (file !== '' && !parameters[kind]) {
      if (options['-bm']) [parameters.bumpScale] = options['-bm'];
      if (options['-mm']) [parameters.displacementBias, parameters.displacementScale = 1] = options['-mm'];
      const map = this.loadTexture(/^https?:\/\//i.test(file) ? file : this.baseUrl + file);
      const [u = 1, v = 1] = options['-s'] ?? [];
      map.repeat.set(u, v);
      const [left = 0, bottom = 0] = options['-o'] ?? [];
      map.offset.set(left, bottom);
      map.wrapS = map.wrapT = options['-clamp'] === 'on' ? ClampToEdgeWrapping : this.wrap;
      if (COLOR_MAPS.has(kind)) map.colorSpace = SRGBColorSpace;
      parameters[kind] = map;
    }
    if (kind === 'alphaMap') parameters.transparent = true;
  }

  loadTexture(url, mapping, onLoad, onProgress, onError) {
    const manager = this.manager ?? DefaultLoadingManager;
    let loader = manager.getHandler(url);
    if (!loader) {
      loader = new TextureLoader(manager);
      loader.setPriority?.(this.priority);
      loader.setCache?.(this.cache);
    }
    loader.setCrossOrigin?.(this.crossOrigin);
    const texture = loader.load(url, onLoad, onProgress, onError);
    if (mapping !== undefined) texture.mapping = mapping;
    return texture;
  }
}
