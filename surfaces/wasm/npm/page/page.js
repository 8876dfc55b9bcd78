// The page: opens files, draws a model, and lists the warnings about it. The files are the only state.

import { convert, draw, prepare } from 'polyhaul';
import { View } from './view.js';

const MODELS = /\.(obj|ply|stl|off|csv|tsv|txt|xyz|pts)(\.(gz|zst|lz4))?$/i;
const IMAGES = /\.(png|jpe?g|webp|gif|bmp)$/i;
const FORMATS = ['ply', 'obj', 'stl', 'off'];
const element = (id) => document.getElementById(id);
const view = new View(element('view'), document.querySelector('main'));

let shown;
let reading = new AbortController();
/** The addresses of the model's images. */
const addresses = new Map();

for (const format of FORMATS) element('format').append(new Option(format.toUpperCase(), format));
for (const id of ['files', 'folder']) {
  element(id).addEventListener('change', ({ target }) => {
    open([...target.files]);
    target.value = '';
  });
}
element('compare').addEventListener('click', compare);
element('export').addEventListener('submit', (event) => {
  event.preventDefault();
  save(element('format').value);
});
document.addEventListener('dragover', (event) => {
  event.preventDefault();
  document.body.classList.add('dragged');
});
document.addEventListener('dragleave', ({ relatedTarget }) => relatedTarget ?? document.body.classList.remove('dragged'));
document.addEventListener('drop', async (event) => {
  event.preventDefault();
  document.body.classList.remove('dragged');
  try {
    open(await dropped(event.dataTransfer));
  } catch (error) {
    say(error.message, true);
  }
});
prepare().catch((error) => say(error.message, true));

/** The dropped files, including files in folders, with their paths. */
async function dropped({ items, files }) {
  const entries = [...items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (!entries.length) return [...files];
  const all = [];
  for (let entry; (entry = entries.pop()); ) {
    if (entry.isFile) {
      const { fullPath } = entry;
      const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
      all.push(Object.assign(file, { path: fullPath.slice(1) }));
    } else {
      entries.push(...(await contents(entry.createReader())));
    }
  }
  return all;
}

async function contents(reader) {
  const all = [];
  // Each call returns some entries, until none remain.
  for (let some; (some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject))).length; ) all.push(...some);
  return all;
}

/** Shows the first model among files; it may refer to the others. Aborts reading of the previous model. */
async function open(files) {
  const file = files.find(({ name }) => MODELS.test(name));
  if (!file) {
    const what = files.length === 1 ? `${files[0].name} is not a model` : 'None of these files is a model';
    say(`${what} that polyhaul reads.`, true);
    return;
  }
  reading.abort();
  const { signal } = (reading = new AbortController());
  const others = Object.fromEntries(files.flatMap((other) => namesOf(other).map((name) => [name, other])));
  say(`Reading ${file.name}…`);
  element('progress').hidden = false;
  element('result').hidden = element('complaints').hidden = true;
  try {
    const { groupOf } = await import('polyhaul/three');
    const begin = performance.now();
    const onProgress = (bytes, total) => Object.assign(element('progress'), { value: bytes, max: total });
    const answer = await draw(file, { skip: true, others, signal, onProgress });
    forget();
    const group = groupOf(answer, (path) => imageOf(path, others), () => view.render());
    shown = { file, others, elapsed: performance.now() - begin };
    view.show(group);
    tell(answer);
    done('');
  } catch (error) {
    if (signal.aborted) return;
    done('');
    fail('This file cannot be read', error);
  }
}

function done(text) {
  say(text);
  element('progress').hidden = true;
  element('progress').removeAttribute('value');
}

function forget() {
  addresses.forEach((address) => URL.revokeObjectURL(address));
  addresses.clear();
}

/** The names by which a model may refer to a file: the file name, and the path relative to the opened folder. */
function namesOf({ name, path, webkitRelativePath }) {
  const parts = (path ?? webkitRelativePath ?? '').split('/').slice(1);
  return parts.length > 1 ? [name, parts.join('/')] : [name];
}

/** The address of an image that a material names. */
function imageOf(path, others) {
  const name = path.replaceAll('\\', '/');
  const file = others[name] ?? others[name.split('/').pop()];
  if (!file || !IMAGES.test(file.name)) return undefined;
  if (!addresses.has(file)) addresses.set(file, URL.createObjectURL(file));
  return addresses.get(file);
}

function tell({ counts, shapes, materials, bytes, warnings, warningCount }) {
  element('result').hidden = false;
  element('name').textContent = shown.file.name;
  element('other').textContent = '';
  const seconds = shown.elapsed / 1000;
  const facts = {
    Read: duration(shown.elapsed) + (bytes > 1e6 ? `, ${(bytes / 1e6 / seconds).toFixed(0)} MB/s` : ''),
    Size: amount(bytes),
    Positions: counts.positions,
    Faces: counts.faces,
    Lines: counts.lines,
    Objects: shapes.length,
    Materials: materials.length,
  };
  const rows = Object.entries(facts).filter(([, value]) => value !== 0);
  element('facts').replaceChildren(
    ...rows.flatMap(([name, value]) => [make('dt', name), make('dd', value.toLocaleString?.('en') ?? value)]),
  );
  complain(warningCount ? `${warningCount.toLocaleString('en')} ${warningCount === 1 ? 'warning' : 'warnings'}` : '', warnings);
}

function fail(heading, error) {
  complain(heading, [{ ...error, text: error.message }]);
}

/** Lists complaints with their locations and excerpts. */
function complain(heading, complaints) {
  element('complaints').hidden = !heading;
  element('complained').textContent = heading;
  element('list').replaceChildren(...complaints.map(complaint));
}

function complaint({ text, file, line, column, count = 1, excerpt, marked, hint }) {
  const item = make('li', '');
  const place = line ? `${file}:${line}${column ? `:${column}` : ''}: ` : '';
  // The message of an error starts with its location.
  const said = file && text.startsWith(`${file}:`) ? text : place + text;
  item.append(said, count > 1 ? ` (${count.toLocaleString('en')} times)` : '');
  if (excerpt && marked) {
    // `marked` is a range of UTF-8 bytes.
    const bytes = new TextEncoder().encode(excerpt);
    const [before, middle, after] = [bytes.subarray(0, marked[0]), bytes.subarray(...marked), bytes.subarray(marked[1])];
    const line = document.createElement('pre');
    const decode = (part) => new TextDecoder().decode(part);
    line.append(decode(before), make('mark', decode(middle)), decode(after));
    item.append(line);
  }
  if (hint && !text.includes(hint)) item.append(make('small', hint));
  return item;
}

/** Reads the same file with the loader of three.js, which blocks the page meanwhile. */
async function compare() {
  const kind = /\.(obj|ply|stl)$/i.exec(shown.file.name)?.[1].toUpperCase();
  if (!kind) {
    element('other').textContent = 'three.js has no loader for this file.';
    return;
  }
  element('other').textContent = 'Reading…';
  try {
    const module = await import(`three/addons/loaders/${kind}Loader.js`);
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
    const begin = performance.now();
    const data = kind === 'OBJ' ? await shown.file.text() : await shown.file.arrayBuffer();
    new module[`${kind}Loader`]().parse(data);
    const elapsed = performance.now() - begin;
    element('other').textContent = `${duration(elapsed)}: ${(elapsed / shown.elapsed).toFixed(1)} times as long`;
  } catch (error) {
    element('other').textContent = `three.js failed: ${error.message}`;
  }
}

async function save(format) {
  const name = shown.file.name.replace(MODELS, '') + `.${format}`;
  say(`Writing ${name}…`);
  try {
    const { blob, warnings, warningCount } = await convert(shown.file, name, { skip: true, others: shown.others });
    const link = Object.assign(make('a', ''), { href: URL.createObjectURL(blob), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
    say(`${name}, ${amount(blob.size)}`);
    if (warningCount) complain(`Warnings about ${name}`, warnings);
  } catch (error) {
    say('');
    fail(`${name} cannot be written`, error);
  }
}

function duration(ms) {
  return ms < 1000 ? `${ms.toFixed(0)} ms` : `${(ms / 1000).toFixed(2)} s`;
}

function amount(bytes) {
  if (bytes < 1e4) return `${bytes} bytes`;
  return bytes < 1e6 ? `${(bytes / 1e3).toFixed(0)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

function make(name, text) {
  return Object.assign(document.createElement(name), { textContent: text });
}

function say(text, isFault = false) {
  element('status').textContent = text;
  element('status').classList.toggle('fault', isFault);
}
