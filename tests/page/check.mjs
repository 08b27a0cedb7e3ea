// Opens pages in a browser and tries what a person does: check.mjs BINARY WORK [--picture | --bench]
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';
import { NASTY, hostile, large } from './hostile.mjs';
import { png } from './picture.mjs';

const [binary, work, mode] = process.argv.slice(2);
const root = process.cwd();
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
let [checks, failures] = [0, 0];
const check = (holds, what, ...more) => {
  checks += 1;
  if (holds) return;
  failures += 1;
  console.error(`FAILED: ${what}`, ...more);
};
const equal = (found, expected, what) => check(JSON.stringify(found) === JSON.stringify(expected), `${what}: found ${JSON.stringify(found)}, expected ${JSON.stringify(expected)}`);

const view = (args, expected = 0) => {
  const ran = spawnSync(binary, ['view', '--no-config', ...args], { cwd: root, encoding: 'utf8', maxBuffer: 1 << 28 });
  check(ran.status === expected, `view ${args.join(' ')} ends with ${ran.status}`, ran.stderr);
  return ran;
};
const made = (name, text, ...args) => {
  const [recording, page] = [join(work, `${name}.jsonl`), join(work, `${name}.html`)];
  writeFileSync(recording, text);
  view([recording, '--output', page, ...args]);
  return page;
};

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox', '--disable-gpu', '--disable-lcd-text'] });

/** A page, with everything noted that it should not do. */
const opened = async (path, options = {}) => {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  // a busy machine is slow, and nothing here is about time
  context.setDefaultTimeout(180_000);
  const page = await context.newPage();
  const noise = [];
  page.on('request', (request) => {
    if (request.url().split('#')[0] !== pathToFileURL(path).href && !request.url().startsWith('data:')) noise.push(`asks for ${request.url()}`);
  });
  page.on('console', (message) => noise.push(`says ${message.text()}`));
  page.on('pageerror', (error) => noise.push(`fails with ${error.message}`));
  page.on('dialog', (dialog) => {
    noise.push(`shows a dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  const from = performance.now();
  await page.goto(pathToFileURL(path).href);
  await page.waitForSelector('html[data-ready="true"]', { state: 'attached' });
  page.took = performance.now() - from;
  page.noise = noise;
  page.close = () => context.close();
  return page;
};
const quiet = (page, what) => equal(page.noise, [], `${what}: what the page does besides`);
const count = (page) => page.textContent('#calls-count');
const title = (page) => page.textContent('#detail-title');
/** Waits until the texts of a call are there: its heading says which. */
const detail = async (page) => {
  await page.waitForFunction(() => !document.querySelector('#detail-body').textContent.includes('Opening…'));
  return page.innerText('#detail-body');
};
/** Waits until something on the page says what it should. */
const says = async (page, selector, text, what) => {
  const came = page.waitForFunction(([selector, text]) => document.querySelector(selector)?.textContent.includes(text), [selector, text], { timeout: 180_000 });
  check(await came.then(() => true, () => false), `${what}: '${text}' in ${selector}, found '${(await page.textContent(selector)).slice(0, 200)}'`);
};
const accessible = async (path, what, options) => {
  // the checker itself needs what the policy of the page forbids
  const page = await opened(path, { bypassCSP: true, ...options });
  await detail(page);
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
  const grave = violations.filter((one) => one.impact === 'serious' || one.impact === 'critical');
  equal(grave.map((one) => [one.id, one.nodes.slice(0, 3).map((node) => node.html.slice(0, 200))]), [], `${what}: accessibility`);
  await page.close();
};

const SAMPLE = 'samples/view/release.jsonl';
const sample = join(work, 'release.html');
view([SAMPLE, '--scope', 'samples/view/release.scope.json', '--output', sample]);
const report = JSON.parse(spawnSync(binary, ['audit', '--no-config', SAMPLE, '--scope', 'samples/view/release.scope.json', '--format', 'json'], { cwd: root, encoding: 'utf8' }).stdout);

const firstGlance = async () => {
  const page = await opened(sample);
  const inView = (selector) => page.evaluate((selector) => {
    const box = document.querySelector(selector).getBoundingClientRect();
    return box.width > 0 && box.top >= 0 && box.bottom <= innerHeight && document.documentElement.scrollHeight <= innerHeight;
  }, selector);
  for (const selector of ['#verdict', '#first', '#canvas', '.finding button', '.row', '.at']) check(await inView(selector), `${selector} is seen without scrolling`);
  const { errors, warnings, notes } = report.summary;
  equal(await page.textContent('#verdict'), `${errors} error, ${warnings} warnings, ${notes} note in ${report.coverage.calls} calls`, 'the headline');
  equal(await page.locator('.finding').count(), report.findings.length, 'findings');
  equal(await count(page), String(report.coverage.calls), 'calls');
  const [worst] = report.findings.filter((finding) => finding.level === 'error');
  check((await title(page)).startsWith(`${worst.index} ${worst.tool}`), 'the gravest finding is open', await title(page));
  check((await page.textContent('#detail-body')).includes(worst.message), 'its message is shown');
  const stats = await page.textContent('#stats');
  for (const word of ['calls31', 'failed8', 'never ran1', 'agents3', 'tokens read']) check(stats.includes(word), `${word} among the numbers`, stats);
  // drawn: not one colour alone
  const drawn = page.waitForFunction(() => {
    const canvas = document.querySelector('#canvas');
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    return new Set(Array.from({ length: data.length / 4 }, (_, n) => data.slice(4 * n, 4 * n + 3).join())).size > 4;
  });
  check(await drawn.then(() => true, () => false), 'the timeline is drawn, in several colours');
  quiet(page, 'the sample');
  await page.screenshot({ path: join(work, 'light.png') });
  await page.close();
};

const filtersAndSearch = async () => {
  const page = await opened(sample);
  const choose = (id, value) => page.selectOption(`#${id}`, value);
  await choose('by-tool', { label: 'Bash (17)' });
  equal(await count(page), '17 of 31', 'calls of one tool');
  await choose('by-outcome', 'failed');
  equal(await count(page), '7 of 31', 'that failed');
  await page.click('#clear');
  equal(await count(page), '31', 'all again');
  await choose('by-outcome', 'repeated');
  equal(await count(page), '7 of 31', 'made before');
  await choose('by-outcome', '');
  await choose('by-level', 'error');
  equal(await count(page), '1 of 31', 'with errors');
  await choose('by-level', 'any');
  equal(await count(page), '8 of 31', 'with findings');
  await choose('by-level', '');
  await choose('by-agent', { label: 'agent:explore (5)' });
  equal(await count(page), '5 of 31', 'of one agent');
  await page.keyboard.press('Escape');
  await page.fill('#search', 'CHANGELOG');
  equal(await count(page), '2 of 31', 'found by what they were called with');
  await page.fill('#search', 'umlauts');
  equal(await count(page), '0 of 31', 'not in what the list shows');
  await page.check('#deep');
  await says(page, '#calls-count', '2 of 31', 'found in the texts');
  await page.fill('#search', 'no such word anywhere');
  await says(page, '#calls-count', '0 of 31', 'nothing');
  check((await page.textContent('#room')).includes('No call fits'), 'says that nothing fits');
  await page.click('#clear');
  // a finding whose call a filter hides is shown all the same
  await choose('by-agent', { label: 'agent:explore (5)' });
  await page.locator('.finding button').last().click();
  equal(await count(page), '31', 'the filter gives way');
  quiet(page, 'filters');
  await page.close();
};

const keys = async () => {
  const page = await opened(sample);
  const press = (key) => page.keyboard.press(key);
  await page.click('#verdict');
  await press('n');
  await press('p');
  await press('p');
  const last = await title(page);
  check(last.startsWith('30 Bash'), 'p goes around to the last finding', last);
  await press('k');
  check((await title(page)).startsWith('29 '), 'k is the call before', await title(page));
  await press('j');
  await press('j');
  check((await title(page)).startsWith('30 '), 'j stops at the last call', await title(page));
  await press('f');
  equal(await count(page), '9 of 31', 'f: failed or never ran');
  await press('f');
  equal(await count(page), '31', 'f again: all');
  await press('/');
  await page.keyboard.type('jkn?');
  equal(await page.inputValue('#search'), 'jkn?', 'typing is typing');
  await press('Escape');
  equal([await page.inputValue('#search'), await count(page)], ['', '31'], 'Escape');
  await press('?');
  check(await page.isVisible('#help'), '? shows the keys');
  await press('Escape');
  check(!(await page.isVisible('#help')), 'and goes');
  await page.focus('#list');
  await press('Home');
  check((await title(page)).startsWith('0 '), 'Home', await title(page));
  await press('ArrowDown');
  await press('PageDown');
  await press('End');
  check((await title(page)).startsWith('30 '), 'End', await title(page));
  equal(await page.getAttribute('#list', 'aria-activedescendant'), 'row30', 'the chosen row is told');
  equal(await page.evaluate(() => location.hash), '#call-30', 'a call has an address');
  await press('Enter');
  equal(await page.evaluate(() => document.activeElement.id), 'detail-body', 'Enter goes to the texts');
  const reached = [];
  for (let steps = 0; steps < 14; steps += 1) {
    await press('Shift+Tab');
    reached.push(await page.evaluate(() => document.activeElement.id || document.activeElement.className));
  }
  for (const id of ['list', 'search', 'by-tool']) check(reached.includes(id), `${id} is reached by Tab`, reached);
  await page.goto(`${pathToFileURL(sample).href}#call-4`);
  await page.waitForFunction(() => document.querySelector('#detail-title').textContent.startsWith('4 Bash'));
  await press('+');
  await press('+');
  check(await page.evaluate(() => document.querySelector('#scroll').scrollWidth > 2 * document.querySelector('#scroll').clientWidth), '+ zooms');
  const spot = () => page.evaluate(() => {
    const canvas = document.querySelector('#canvas').getBoundingClientRect();
    const whole = (canvas.width - 8) * timeline.zoom;
    return [canvas.left + 5 + timeline.axis.from(4) * whole - document.querySelector('#scroll').scrollLeft, canvas.top + 12];
  });
  await page.mouse.move(...(await spot()));
  check((await page.textContent('#tip')).startsWith('4  Bash'), 'the timeline tells the call under the pointer', await page.textContent('#tip'));
  await press('-');
  await press('-');
  await press('j');
  await page.mouse.click(...(await spot()));
  check((await title(page)).startsWith('4 '), 'and opens it', await title(page));
  await detail(page);
  quiet(page, 'keys');
  await page.close();
};

const texts = async () => {
  const page = await opened(sample);
  await page.evaluate(() => { location.hash = '#call-29'; });
  await page.waitForFunction(() => document.querySelector('#detail-title').textContent.startsWith('29 '));
  let shown = await detail(page);
  for (const word of ['git show --stat v2.4.0', 'Where the answers differ', 'call 28 answered', '4 files changed']) check(shown.includes(word), `'${word}' in the texts`, shown);
  const marks = await page.locator('.pair mark').allInnerTexts();
  equal(marks, ['3 files changed, 14', '4 files changed, 15'], 'what differs is marked');
  await page.click('#detail-body button:text("call 28") >> nth=0');
  await page.waitForFunction(() => document.querySelector('#detail-title').textContent.startsWith('28 '));
  await page.evaluate(() => { location.hash = '#call-23'; });
  await page.waitForFunction(() => document.querySelector('#detail-title').textContent.startsWith('23 '));
  shown = await detail(page);
  check(shown.includes('[REDACTED:') && shown.includes('SHOP_PORT=8080'), 'secrets are masked, and nothing else', shown);
  await page.click('#detail-body button:text("JSON") >> nth=0');
  check((await page.innerText('#detail-body')).includes('{"file_path":"/home/ada/shop/.env"}'), 'the text as it was recorded');
  const all = await page.evaluate(async () => {
    const decoder = new TextDecoder();
    const parts = [...document.querySelectorAll('script[type="application/octet-stream"]')].map((node) => node.id);
    return (await Promise.all(parts.map(unpack))).map((bytes) => decoder.decode(bytes)).join('\n');
  });
  check(all.includes('SHOP_PORT=8080') && !all.includes('tulip-Orbit') && !all.includes('ghp_'), 'no secret is anywhere in the file');
  quiet(page, 'texts');
  await page.close();
  const bare = join(work, 'unmasked.html');
  view([SAMPLE, '--unmasked', '--output', bare]);
  const open = await opened(bare);
  await open.evaluate(() => { location.hash = '#call-23'; });
  await open.waitForFunction(() => document.querySelector('#detail-title').textContent.startsWith('23 '));
  check((await detail(open)).includes('tulip-Orbit-93'), '--unmasked shows them');
  await open.close();
};

const darkAndPrint = async () => {
  const page = await opened(sample, { colorScheme: 'dark' });
  const brightness = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor.match(/\d+/g).slice(0, 3).map(Number).reduce((a, b) => a + b));
  check(await brightness() < 150, 'dark where the reader wants it dark');
  await page.screenshot({ path: join(work, 'dark.png') });
  await page.emulateMedia({ colorScheme: 'light' });
  check(await brightness() > 700, 'light again');
  await page.evaluate(() => dispatchEvent(new Event('beforeprint')));
  await page.emulateMedia({ media: 'print' });
  for (const [selector, visible] of [['#filters', false], ['#list', false], ['#time', false], ['#printed', true], ['#verdict', true], ['.finding', true]]) {
    equal(await page.locator(selector).first().isVisible(), visible, `${selector} on paper`);
  }
  equal(await page.locator('#printed tbody tr').count(), 31, 'all calls are printed');
  const pdf = await page.pdf({ path: join(work, 'printed.pdf') });
  check(pdf.length > 10_000, 'a PDF is made');
  await page.screenshot({ path: join(work, 'print.png'), fullPage: true });
  quiet(page, 'dark and printed');
  await page.close();
  const small = await opened(sample, { viewport: { width: 390, height: 844 } });
  check(await small.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'nothing is wider than a small screen');
  await small.screenshot({ path: join(work, 'small.png'), fullPage: true });
  await small.close();
};

const hostileText = async () => {
  const path = made('hostile', hostile());
  const page = await opened(path);
  const calls = Number((await count(page)).replace(',', ''));
  const before = await page.evaluate(() => document.querySelectorAll('script, img, svg, iframe, object, a, link, b').length);
  const strange = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]/u;
  let seen = '';
  for (let call = 0; call < calls; call += 1) {
    await page.evaluate((call) => choose(call, true), call);
    const shown = await detail(page);
    seen += shown;
    const all = await page.evaluate(() => document.body.textContent.replace(/[A-Za-z0-9+/=]{2000,}/g, ''));
    const hidden = strange.exec(await page.evaluate(() => document.querySelector('#page').textContent));
    check(!hidden, `call ${call}: no hidden character`, hidden && JSON.stringify(hidden[0]));
    check(all.length < 3_000_000, `call ${call}: ${all.length} characters at once`);
  }
  for (const text of NASTY.slice(0, 8)) check(seen.includes(text), `${text} is shown as text`);
  for (const text of ['\\u202emoc.elpmaxe', '\\u001b[31mred', '\\u0000nul', '\\ud83d', '\\u{e0041}', '123456789012345678901234567890']) check(seen.includes(text), `${text} is made visible`);
  equal(await page.evaluate(() => document.querySelectorAll('script, img, svg, iframe, object, a, link, b').length), before, 'elements that could do something');
  equal(await page.evaluate(() => window.hacked), undefined, 'nothing recorded was run');
  check(await page.evaluate(() => ({}).hacked === undefined && !Object.prototype.content), 'no prototype was changed');
  // filters and tooltips hold names as well
  for (const id of ['by-tool', 'by-agent']) check(!strange.test(await page.textContent(`#${id}`)), `${id} has no hidden character`);
  check((await page.title()).includes('hostile.jsonl'), 'the title names the recording');
  await page.evaluate(() => dispatchEvent(new Event('beforeprint')));
  await page.fill('#search', '<script>');
  await page.check('#deep');
  await page.waitForFunction(() => document.querySelector('#calls-count').textContent.includes(' of '));
  quiet(page, 'hostile text');
  await page.screenshot({ path: join(work, 'hostile.png') });
  await page.close();
  await accessible(path, 'hostile text');
};

const policyHolds = async () => {
  // what would happen if markup got in after all: nothing
  const page = await opened(sample);
  const tried = await page.evaluate(async () => {
    const outcomes = [];
    const attempt = async (name, act) => {
      try {
        await act();
        outcomes.push(name);
      } catch { /* refused, as it should be */ }
    };
    await attempt('markup', () => { document.createElement('div').innerHTML = '<b>x</b>'; });
    await attempt('fetch', () => fetch('https://example.com/'));
    await attempt('script', () => new Promise((done, refused) => {
      const node = document.createElement('script');
      node.append('window.ran = 1');
      document.body.append(node);
      setTimeout(() => (window.ran ? done() : refused()), 0);
    }));
    return outcomes;
  });
  equal(tried, [], 'what the policy lets through');
  await page.close();
};

const manyCalls = async () => {
  const path = made('many', large(10_000, 600));
  const page = await opened(path);
  equal(await count(page), '10,000', 'all calls');
  const rows = () => page.locator('.row').count();
  check(await rows() < 150, 'only what is seen exists');
  await page.focus('#list');
  await page.keyboard.press('End');
  await page.waitForSelector('#row9999');
  check(await rows() < 150, 'also at the end');
  await detail(page);
  await page.check('#deep');
  await page.fill('#search', 'zzz-not-there');
  await says(page, '#calls-count', '0 of 10,000', 'a search through all texts');
  quiet(page, 'many calls');
  await page.screenshot({ path: join(work, 'many.png') });
  await page.close();
};

const otherPages = async () => {
  // none, several and broken recordings
  const clean = join(work, 'clean.html');
  view(['samples/session-clean.jsonl', '--output', clean]);
  const page = await opened(clean);
  equal(await page.textContent('#verdict'), 'No findings in 4 calls, permissions not judged', 'a clean run says so');
  check((await page.textContent('#said')).includes('permissions, for no scope was given'), 'and what was not judged');
  quiet(page, 'a clean run');
  await page.close();
  await accessible(clean, 'a clean run');
  const several = join(work, 'several.html');
  view(['samples/import/claude-code', '--allow-loss', '--output', several]);
  const folder = await opened(several);
  check((await folder.textContent('#names')).includes('more files'), 'several recordings');
  check(await folder.locator('#labels button').count() > 3, 'a lane an agent');
  quiet(folder, 'several recordings');
  await folder.screenshot({ path: join(work, 'several.png') });
  await folder.close();
  const broken = join(work, 'broken.html');
  view(['samples/import/claude-code/damaged.jsonl', '--output', broken], 2);
  const part = await opened(broken);
  check((await part.textContent('#verdict')).startsWith('Not everything could be judged'), 'a broken recording says so first');
  check((await part.textContent('#troubles')).includes('damaged.jsonl'), 'and where');
  await part.close();
  const none = join(work, 'none.html');
  writeFileSync(join(work, 'none.jsonl'), '');
  view([join(work, 'none.jsonl'), '--output', none], 2);
  const empty = await opened(none);
  equal(await empty.textContent('#verdict'), 'No call to judge', 'a recording without a call');
  for (const key of ['j', 'k', 'n', 'p', 'f', '+', 'End']) await empty.keyboard.press(key);
  quiet(empty, 'no call');
  await empty.close();
  const agents = Array.from({ length: 400 }, (_, n) => `{"index":${n},"tool":"t","args":{"n":${n}},"response":{"$import":{"agent":"a${n}"},"n":1}}`);
  const crowd = await opened(made('crowd', `${agents.join('\n')}\n`));
  check((await crowd.textContent('#labels')).includes('220 agents more'), 'very many agents');
  await crowd.evaluate(() => choose(399, true));
  await detail(crowd);
  quiet(crowd, 'very many agents');
  await crowd.close();
  const ran = spawnSync(binary, ['audit', '--no-config', SAMPLE, '--report', `html=${join(work, 'audit.html')}`], { cwd: root, encoding: 'utf8' });
  check(ran.status === 1, `audit with a page ends with ${ran.status}`);
  const audited = await opened(join(work, 'audit.html'));
  equal(await count(audited), '31', "the audit's page has its calls");
  await audited.close();
  const context = await browser.newContext({ javaScriptEnabled: false });
  const still = await context.newPage();
  await still.goto(pathToFileURL(sample).href);
  const words = await still.innerText('body');
  for (const one of ['1 error, 6 warnings, 1 note in 31 calls', 'permission-overreach', 'dangerous-call']) check(words.includes(one), `'${one}' without scripts`);
  await context.close();
};

const picture = async () => {
  const page = await opened(sample, { viewport: { width: 1240, height: 700 } });
  await detail(page);
  const shot = (await page.screenshot()).toString('base64');
  await page.close();
  // its pixels, from a page that may load it
  const blank = await browser.newPage();
  const [width, height, pixels] = await blank.evaluate(async (shot) => {
    const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${shot}`)).blob());
    const ink = new OffscreenCanvas(image.width, image.height).getContext('2d');
    ink.drawImage(image, 0, 0);
    const { data } = ink.getImageData(0, 0, image.width, image.height);
    let text = '';
    for (let at = 0; at < data.length; at += 32768) text += String.fromCharCode(...data.subarray(at, at + 32768));
    return [image.width, image.height, btoa(text)];
  }, shot);
  await blank.close();
  writeFileSync(join(work, 'page.png'), png(width, height, Buffer.from(pixels, 'base64')));
  check(statSync(join(work, 'page.png')).size < 150_000, `the picture is small: ${statSync(join(work, 'page.png')).size} bytes`);
  if (mode === '--picture') copyFileSync(join(work, 'page.png'), join(root, 'docs/page.png'));
};

/** How large pages are and how long they take to open; beside another program's page where CLAUDE_CODE_LOG names it. */
const bench = async () => {
  const packed = (command) => Number(spawnSync('bash', ['-c', `${command} | gzip -6 | wc -c`], { encoding: 'utf8' }).stdout);
  const median = (times) => Math.round(times.sort((a, b) => a - b)[Math.floor(times.length / 2)]);
  for (const [calls, bytes] of [[5_000, 4_000], [10_000, 10_000]]) {
    let from = performance.now();
    const path = made('bench', large(calls, bytes));
    const making = Math.round(performance.now() - from);
    const times = [];
    for (let turn = 0; turn < 5; turn += 1) {
      const page = await opened(path);
      times.push(page.took);
      await page.close();
    }
    const recording = join(work, 'bench.jsonl');
    const [size, shown] = [statSync(path).size, packed(`'${binary}' import '${recording}' 2>/dev/null`)];
    console.log(`${calls} calls, a recording of ${statSync(recording).size} bytes: made in ${making} ms, ${size} bytes, ${(size / shown).toFixed(2)} times what it shows with gzip; open in ${median(times)} ms`);
    if (!process.env.CLAUDE_CODE_LOG) continue;
    const other = join(work, 'other.html');
    from = performance.now();
    spawnSync(process.env.CLAUDE_CODE_LOG, [recording, '--output', other], { encoding: 'utf8' });
    const took = Math.round(performance.now() - from);
    const loads = [];
    for (let turn = 0; turn < 3; turn += 1) {
      const page = await browser.newPage();
      from = performance.now();
      await page.goto(pathToFileURL(other).href, { timeout: 120_000 });
      loads.push(performance.now() - from);
      await page.close();
    }
    console.log(`  claude-code-log: made in ${took} ms, ${statSync(other).size} bytes; open in ${median(loads)} ms`);
  }
};

mkdirSync(work, { recursive: true });
if (mode === '--bench') {
  await bench();
} else if (mode === '--picture') {
  await picture();
} else {
  await picture();
  await firstGlance();
  await filtersAndSearch();
  await keys();
  await texts();
  await darkAndPrint();
  await hostileText();
  await policyHolds();
  await manyCalls();
  await otherPages();
  await accessible(sample, 'the sample');
  await accessible(sample, 'the sample in the dark', { colorScheme: 'dark' });
}
await browser.close();
console.log(`${checks - failures} passed, ${failures} failed`);
process.exit(failures ? 1 : 0);
