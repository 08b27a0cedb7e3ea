// What the page holds, and text that is safe to show.
//
// The index of all calls and their texts stand in this file compressed: `index` once, the texts in chunks that are
// opened when somebody looks. Nothing recorded ever becomes markup: every text goes through `put`, which makes text nodes.

const byId = (id) => document.getElementById(id);

/** An element with a class and children, which are elements or texts. */
const make = (name, className, ...children) => {
  const node = document.createElement(name);
  if (className) node.className = className;
  node.append(...children);
  return node;
};

// what shows nothing by itself, or turns what stands around it: control characters, marks of direction, invisible ones,
// and halves of characters, which no font has
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202f\u205f-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\ud800-\udfff\u{e0000}-\u{e0fff}]/gu;

const escaped = (char) => {
  const code = char.codePointAt(0);
  const short = { 9: '\\t', 10: '\\n', 13: '\\r' }[code];
  return short || (code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, '0')}`);
};

/** Puts a text into a node, with what is hidden made visible. `lines`: line breaks and tabs stay what they are. */
const put = (node, text, lines = false) => {
  let at = 0;
  for (const match of text.matchAll(HIDDEN)) {
    if (lines && (match[0] === '\n' || match[0] === '\t')) continue;
    if (lines && match[0] === '\r' && text[match.index + 1] === '\n') {
      node.append(text.slice(at, match.index));
      at = match.index + 1;
      continue;
    }
    if (match.index > at) node.append(text.slice(at, match.index));
    node.append(make('span', 'esc', escaped(match[0])));
    at = match.index + match[0].length;
  }
  if (at < text.length) node.append(at ? text.slice(at) : text);
  return node;
};

/** The same as a text, for attributes. */
const plain = (text) => text.replace(HIDDEN, escaped);

const unpack = async (id) => {
  const binary = atob(byId(id).textContent);
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at += 1) bytes[at] = binary.charCodeAt(at);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
};

const LEVELS = ['', 'note', 'warning', 'error'];
const EFFECTS = ['read-only', 'session', 'mutates', 'unknown', 'undeclared'];

/** Everything that is known of the calls, and what is derived of it once. */
const state = { index: null, calls: null, levels: null, findingsOf: new Map(), texts: null, shown: [], chosen: -1, chunks: new Map() };

const KEPT = 6;

const chunk = (number) => {
  let opened = state.chunks.get(number);
  if (!opened) {
    opened = unpack(`c${number}`);
    state.chunks.set(number, opened);
    if (state.chunks.size > KEPT) state.chunks.delete(state.chunks.keys().next().value);
  }
  return opened;
};

/** The arguments and the answer of a call as JSON texts; null where the page does not hold them. */
const detailsOf = async (call) => {
  const { chunk: chunks, at, args, answer } = state.calls;
  if (chunks[call] < 0) return null;
  const bytes = await chunk(chunks[call]);
  const decoder = new TextDecoder();
  const [from, middle] = [at[call], at[call] + args[call]];
  return { args: decoder.decode(bytes.subarray(from, middle)), answer: decoder.decode(bytes.subarray(middle, middle + answer[call])) };
};

const load = async () => {
  state.index = JSON.parse(new TextDecoder().decode(await unpack('index')));
  const { calls, findings, tools } = state.index;
  state.calls = calls;
  state.levels = new Uint8Array(calls.count);
  findings.forEach((finding, number) => {
    if (finding.call < 0) return;
    const level = LEVELS.indexOf(finding.level);
    state.levels[finding.call] = Math.max(state.levels[finding.call], level);
    if (!state.findingsOf.has(finding.call)) state.findingsOf.set(finding.call, []);
    state.findingsOf.get(finding.call).push(number);
  });
  state.texts = calls.summary.map((summary, call) => `${tools[calls.tool[call]]} ${summary}`.toLowerCase());
};

const lower = (text) => text.toLowerCase();

/** The agent of a lane, in words. */
const laneName = (number) => {
  const { lanes, files } = state.index;
  const lane = lanes[number];
  const agent = lane.agent || 'main';
  const conversation = lane.conversation > 0 ? ` · ${lane.conversation}` : '';
  const file = files.length > 1 ? ` · ${files[lane.file].path.split('/').pop()}` : '';
  return agent + conversation + file;
};

const took = (milliseconds) => {
  if (milliseconds === null || milliseconds === undefined || milliseconds < 0) return '';
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  const seconds = milliseconds / 1000;
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes} min ${Math.round(seconds % 60)} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
};

const number = (count) => count.toLocaleString('en');
const counted = (count, noun) => `${number(count)} ${noun}${count === 1 ? '' : 's'}`;
