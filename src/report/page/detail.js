// The chosen call: what was called, what was answered, what is wrong with it. Texts are opened when they are asked for.

/** Characters of one text that are shown at once: a browser lays out no more in a moment. */
const AT_ONCE = 20000;
/** Longer texts are shown as they are, and not taken apart. */
const TAKEN_APART = 400000;
const DEEPEST = 4;

/** Reads JSON into parts that keep numbers as they are written. */
const readJson = (text) => {
  let at = 0;
  const blank = () => {
    while (at < text.length && ' \n\r\t'.includes(text[at])) at += 1;
  };
  const literal = () => {
    const from = at;
    at += 1;
    while (text[at] !== '"') {
      if (at >= text.length) throw new SyntaxError('a string without an end');
      at += text[at] === '\\' ? 2 : 1;
    }
    at += 1;
    return JSON.parse(text.slice(from, at));
  };
  const value = (depth) => {
    if (depth > 200) throw new SyntaxError('too deep');
    blank();
    const from = at;
    if (text[at] === '"') {
      const string = literal();
      return { kind: 'text', string, raw: [from, at] };
    }
    if (text[at] === '{' || text[at] === '[') {
      const [kind, end] = text[at] === '{' ? ['object', '}'] : ['array', ']'];
      const parts = [];
      at += 1;
      blank();
      while (text[at] !== end) {
        let name = null;
        if (kind === 'object') {
          blank();
          if (text[at] !== '"') throw new SyntaxError('a member without a name');
          name = literal();
          blank();
          at += 1;
        }
        parts.push([name, value(depth + 1)]);
        blank();
        if (text[at] === ',') at += 1;
        else if (text[at] !== end) throw new SyntaxError('no end');
        blank();
      }
      at += 1;
      return { kind, parts, raw: [from, at] };
    }
    while (at < text.length && !',]} \n\r\t'.includes(text[at])) at += 1;
    if (at === from) throw new SyntaxError('no value');
    return { kind: 'other', raw: [from, at] };
  };
  const whole = value(0);
  blank();
  if (at < text.length) throw new SyntaxError('more than one value');
  return whole;
};

/** A text as a block, a part of it where it is long. */
const block = (text) => {
  const node = make('pre', 'value');
  const holder = make('div', '', node);
  let shown = 0;
  const more = make('button', 'noprint');
  const grow = (by) => {
    let to = Math.min(text.length, shown + by);
    // not between the halves of a character
    if (to < text.length && (text.charCodeAt(to - 1) & 0xfc00) === 0xd800) to += 1;
    put(node, text.slice(shown, to), true);
    shown = to;
    more.hidden = shown >= text.length;
    more.textContent = `Show more: ${number(shown)} of ${number(text.length)} characters`;
  };
  more.addEventListener('click', () => grow(10 * AT_ONCE));
  grow(AT_ONCE);
  if (!more.hidden) holder.append(more);
  return holder;
};

const isSimple = (part) => part.kind === 'other' || (part.kind === 'text' && part.string.length <= 90 && !part.string.includes('\n'));

const showPart = (part, text, depth) => {
  if (part.kind === 'text') return block(part.string);
  const raw = text.slice(...part.raw);
  if (part.kind === 'other' || part.parts.length === 0 || depth >= DEEPEST) return block(raw);
  const members = part.parts.slice(0, 200).map(([name, inner], place) => {
    const label = put(make('span', 'name mono'), name === null ? `[${place}]` : name);
    if (isSimple(inner)) {
      return make('div', 'member', label, ': ', put(make('span', 'mono'), inner.kind === 'text' ? inner.string : text.slice(...inner.raw)));
    }
    const value = showPart(inner, text, depth + 1);
    return make('div', 'member', label, inner.kind === 'text' ? value : make('div', 'inner', value));
  });
  const rest = part.parts.length - members.length;
  if (rest > 0) members.push(make('p', 'empty', `${number(rest)} more; the JSON text has them all`));
  return make('div', '', ...members);
};

const readable = (text) => {
  if (text.length > TAKEN_APART) return block(text);
  try {
    const part = readJson(text);
    if (part.kind === 'object' && part.parts.length === 0) return make('p', 'empty', 'empty');
    return showPart(part, text, 0);
  } catch {
    return block(text);
  }
};

/** A heading with a button that shows the text as it was recorded. */
const section = (title, text) => {
  const body = make('div', '', readable(text));
  const button = make('button', 'noprint', 'JSON');
  button.setAttribute('aria-pressed', 'false');
  button.addEventListener('click', () => {
    const raw = button.getAttribute('aria-pressed') !== 'true';
    button.setAttribute('aria-pressed', String(raw));
    body.replaceChildren(raw ? block(text) : readable(text));
  });
  return make('section', '', make('h3', '', title, button), body);
};

const AROUND = 300;
/** Two texts beside each other, around the first character in which they differ. */
const beside = (earlier, later, names) => {
  let same = 0;
  const least = Math.min(earlier.length, later.length);
  while (same < least && earlier[same] === later[same]) same += 1;
  let end = 0;
  while (end < least - same && earlier[earlier.length - 1 - end] === later[later.length - 1 - end]) end += 1;
  const column = (text, name) => {
    const [from, to] = [Math.max(0, same - AROUND), text.length - end];
    const differs = text.slice(same, to);
    const pre = make('pre', 'value');
    if (from > 0) pre.append('…');
    put(pre, text.slice(from, same), true);
    pre.append(put(make('mark'), differs.length > 4000 ? `${differs.slice(0, 4000)}…` : differs, true));
    put(pre, text.slice(to, to + AROUND), true);
    if (to + AROUND < text.length) pre.append('…');
    return make('div', '', make('p', '', name), pre);
  };
  return make('div', 'pair', column(earlier, names[0]), column(later, names[1]));
};

const link = (call, text) => {
  const button = make('button', 'noprint', text);
  button.addEventListener('click', () => choose(call, true));
  return button;
};

const findingBox = (number, call) => {
  const finding = state.index.findings[number];
  const box = make('div', `at ${finding.level}`);
  const title = make('p', '', make('span', `tag ${finding.level}`, finding.level), ' ', make('span', 'mono', finding.rule), finding.known ? ' · known by the baseline' : '');
  box.append(title, put(make('p'), finding.message));
  const about = state.index.rules[finding.rule];
  box.append(make('p', 'more', `${about} More: toolreplay explain ${finding.rule}`));
  if (finding.argument) box.append(put(make('p', 'more mono'), `in ${finding.argument || 'the arguments'}`));
  const others = [finding.related, ...finding.others].filter((other) => other >= 0 && other !== call);
  if (others.length) {
    const buttons = others.slice(0, 20).flatMap((other) => [link(other, `call ${numberOf(other)}`), ' ']);
    box.append(make('p', 'more', finding.related >= 0 ? 'The earlier call: ' : 'With: ', ...buttons));
  }
  return box;
};

const fact = (list, name, value) => {
  if (value === '' || value === null || value === undefined) return;
  const cell = make('dd');
  if (typeof value === 'string') put(cell, value);
  else cell.append(value);
  list.append(make('dt', '', name), cell);
};

const clock = (milliseconds) => new Date(milliseconds).toISOString().replace('T', ' ').replace('Z', ' UTC');

const factsOf = (call) => {
  const { calls, index } = state;
  const file = index.files[fileOf(call)];
  const list = make('dl', 'facts');
  const column = calls.column[call] > 0 ? `:${calls.column[call]}` : '';
  const source = file.sources[calls.source[call]] || file.path;
  fact(list, 'stands in', calls.line[call] > 0 ? `${source}:${calls.line[call]}${column}` : source);
  fact(list, 'agent', laneName(calls.lane[call]));
  fact(list, 'effect', EFFECTS[calls.effect[call]]);
  fact(list, 'outcome', [OUTCOMES[outcomeOf(call)], calls.why[call] || ''].filter(Boolean).join(': '));
  if (calls.start && calls.start[call] !== null) fact(list, 'called', clock(index.epoch + calls.start[call]));
  if (calls.took) fact(list, 'took', took(calls.took[call]));
  if (calls.repeats[call]) fact(list, 'made before', calls.before[call] >= 0 ? link(calls.before[call], `call ${numberOf(calls.before[call])}`) : 'yes');
  return list;
};

let opening = 0;
const showDetail = async (call) => {
  opening += 1;
  const mine = opening;
  const { calls, index } = state;
  const [title, body] = [byId('detail-title'), byId('detail-body')];
  title.replaceChildren(put(make('bdi'), `${numberOf(call)} ${index.tools[calls.tool[call]]}`));
  const found = state.findingsOf.get(call) || [];
  const waits = make('p', 'empty', 'Opening…');
  body.replaceChildren(...found.slice(0, 50).map((finding) => findingBox(finding, call)), factsOf(call), waits);
  body.scrollTop = 0;
  let details = null;
  try {
    details = await detailsOf(call);
  } catch (error) {
    if (mine === opening) waits.replaceChildren(put(make('span'), `This part of the page is damaged: ${error.message}`));
    return;
  }
  if (mine !== opening) return;
  if (!details) {
    waits.textContent = 'Its arguments and its answer are not in this page, which has its limits.';
    return;
  }
  const parts = [section('Arguments', details.args)];
  const changed = found.map((one) => index.findings[one]).find((finding) => finding.rule === 'non-determinism' && finding.related >= 0);
  if (changed) {
    const earlier = await detailsOf(changed.related);
    if (mine !== opening) return;
    if (earlier && earlier.answer !== details.answer) {
      const names = [`call ${numberOf(changed.related)} answered`, `call ${numberOf(call)} answered`];
      parts.push(make('section', '', make('h3', '', 'Where the answers differ'), beside(earlier.answer, details.answer, names)));
    }
  }
  const answered = details.answer === '' ? make('section', '', make('h3', '', 'Answer'), make('p', 'empty', 'No answer was recorded.')) : section(calls.several[call] ? `${calls.several[call]} answers` : 'Answer', details.answer);
  waits.replaceWith(...parts, answered);
};
