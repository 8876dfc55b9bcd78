// The page in a headless Chromium: files in, a picture, facts and complaints out. Skipped where there is no browser.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createServer } from 'node:http';
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { extname, join, normalize } from 'node:path';

const PATHS = [process.env.CHROME, '/usr/bin/chromium', '/usr/bin/google-chrome'];
const executablePath = PATHS.find((path) => path && existsSync(path));
const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.wasm': 'application/wasm' };
const ARGS = ['--no-sandbox', '--disable-quic', '--no-first-run', '--disable-background-networking', '--enable-unsafe-swiftshader'];

const CUBE = `mtllib cube.mtl
o cube
v -1 -1 -1
v 1 -1 -1
v 1 1 -1
v -1 1 -1
v -1 -1 1
v 1 -1 1
v 1 1 1
v -1 1 1
usemtl paint
f 4 3 2 1
f 5 6 7 8
f 1 2 6 5
f 3 4 8 7
f 2 3 7 6
f 1 5 8 4
f 1 2 99
`;

let server, browser, page, asked;

before(async () => {
  if (!executablePath) return;
  const folder = process.env.POLYHAUL_PAGE;
  server = createServer(({ url }, response) => {
    const file = join(folder, normalize(new URL(url, 'http://x').pathname.replace(/\/$/, '/index.html')));
    if (!existsSync(file)) return response.writeHead(404).end();
    response.writeHead(200, { 'content-type': TYPES[extname(file)] ?? 'application/octet-stream' }).end(readFileSync(file));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { chromium } = await import('playwright-core');
  browser = await chromium.launch({ executablePath, args: ARGS });
  page = await browser.newPage({ viewport: { width: 1000, height: 700 } });
  asked = [];
  page.on('request', (request) => asked.push(request.url()));
  page.on('pageerror', (error) => asked.push(`error: ${error.message}`));
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
});

after(async () => {
  await browser?.close();
  server?.close();
});

const inPage = (name, run) => test(name, { skip: !executablePath && 'there is no Chromium' }, run);

/** Gives files to the page, as its button does. */
async function give(files) {
  const buffers = Object.entries(files).map(([name, content]) => ({ name, mimeType: '', buffer: Buffer.from(content) }));
  await page.setInputFiles('#files', buffers);
  await page.waitForFunction(() => document.getElementById('progress').hidden && !/…$/.test(document.getElementById('status').textContent));
}

/** The picture as PNG, which is kept in a folder if one is named. */
async function shot() {
  const png = await page.screenshot({ type: 'png' });
  if (process.env.POLYHAUL_SHOTS) writeFileSync(join(process.env.POLYHAUL_SHOTS, `${shots++}.png`), png);
  return png;
}

/** The share of the picture that has the color of something. */
async function share(isColor) {
  const png = await shot();
  const url = `data:image/png;base64,${png.toString('base64')}`;
  const pixels = await page.evaluate(async (url) => {
    const image = await createImageBitmap(await (await fetch(url)).blob());
    const canvas = new OffscreenCanvas(image.width, image.height);
    const context = canvas.getContext('2d');
    context.drawImage(image, 0, 0);
    // Right of the panel.
    return [...context.getImageData(400, 50, 550, 600).data];
  }, url);
  let found = 0;
  for (let at = 0; at < pixels.length; at += 4) found += isColor(pixels[at], pixels[at + 1], pixels[at + 2]) ? 1 : 0;
  return found / (pixels.length / 4);
}
let shots = 0;

const isRed = (red, green, blue) => red > 1.6 * green && red > 1.6 * blue && red > 40;

inPage('a model with materials is drawn, and what is wrong with it is told', async () => {
  await give({ 'cube.obj': CUBE, 'cube.mtl': 'newmtl paint\nKd 0.9 0.05 0.05\n' });
  assert.equal(await page.textContent('#name'), 'cube.obj');
  const facts = await page.textContent('#facts');
  assert.match(facts, /Positions8Faces6Objects1Materials1/);
  assert.match(await page.textContent('#complained'), /^\d warnings?$/);
  assert.match(await page.textContent('#list'), /cube.obj:18:7: position 99 does not exist/);
  const red = await share(isRed);
  assert.ok(red > 0.1 && red < 0.8, `${red}`);
});

inPage('textures are drawn when they have come', async () => {
  const image = await page.evaluate(async () => {
    const canvas = new OffscreenCanvas(2, 2);
    const context = canvas.getContext('2d');
    context.fillStyle = '#00ff00';
    context.fillRect(0, 0, 2, 2);
    return [...new Uint8Array(await (await canvas.convertToBlob()).arrayBuffer())];
  });
  const text = CUBE.replace('f 1 2 99\n', '').replaceAll(/^f (.*)$/gm, (_, corners) => `f ${corners.split(' ').map((it) => `${it}/1`).join(' ')}`);
  await give({
    'green.obj': text.replace('usemtl', 'vt 0.5 0.5\nusemtl'),
    'cube.mtl': 'newmtl paint\nKd 1 1 1\nmap_Kd green.png\n',
    'green.png': Buffer.from(image),
  });
  await page.waitForTimeout(500);
  const green = await share((red, green, blue) => green > 1.6 * red && green > 1.6 * blue && green > 40);
  assert.ok(green > 0.1, `${green}`);
  await give({ 'cube.obj': CUBE, 'cube.mtl': 'newmtl paint\nKd 0.9 0.05 0.05\n' });
});

inPage('the keyboard turns the model', async () => {
  const position = () => page.screenshot({ clip: { x: 400, y: 50, width: 550, height: 600 } });
  const begin = await position();
  await page.focus('#view');
  await page.keyboard.press('ArrowLeft');
  const turned = await position();
  assert.notDeepEqual(turned, begin);
  await page.keyboard.press('ArrowRight');
});

inPage('the model is saved in another format', async () => {
  await page.selectOption('#format', 'ply');
  const [download] = await Promise.all([page.waitForEvent('download'), page.click('#export button')]);
  assert.equal(download.suggestedFilename(), 'cube.ply');
  const path = join(mkdtempSync(join(tmpdir(), 'polyhaul-')), 'cube.ply');
  await download.saveAs(path);
  assert.match(readFileSync(path, 'latin1'), /^ply\nformat binary_little_endian 1.0\n[^]*element vertex 8\n[^]*element face 6\n/);
});

inPage('it fits a phone', async () => {
  await page.setViewportSize({ width: 390, height: 800 });
  const [panel, body] = await page.evaluate(() => [
    document.querySelector('main').getBoundingClientRect().toJSON(),
    document.documentElement.scrollWidth,
  ]);
  assert.ok(panel.left >= 0 && panel.right <= 390 && panel.top > 300 && body <= 390, JSON.stringify(panel));
  await shot();
  await page.setViewportSize({ width: 1000, height: 700 });
});

inPage("three.js' own loader is timed", async () => {
  await page.click('#compare');
  await page.waitForFunction(() => /times as long/.test(document.getElementById('other').textContent));
});

inPage('a broken file says where, and no model among files that there is none', async () => {
  await give({ 'broken.ply': 'ply\nformat ascii 1.0\nelement vertex x\nend_header\n' });
  assert.match(await page.textContent('#complaints'), /broken.ply:3/);
  assert.ok(await page.isHidden('#result'));
  await give({ 'notes.pdf': 'x' });
  assert.match(await page.textContent('#status'), /notes.pdf is not a model that polyhaul reads/);
});

inPage('nothing leaves the page, and nothing failed in it', async () => {
  const own = new URL(page.url()).origin;
  assert.deepEqual(asked.filter((url) => !url.startsWith(own) && !/^(blob|data):/.test(url)), []);
});
