// The list of calls: only the rows that are seen exist, so that a hundred thousand are as quick as ten.

const ROW = 26;
const SPARE = 12;
const filters = { words: '', deep: null, tool: '', level: '', agent: '', outcome: '' };

/** What a call came to, for the filter and in words. */
const outcomeOf = (call) => {
  const { state: states, failed } = state.calls;
  return states[call] || (failed[call] ? 'failed' : 'answered');
};

const OUTCOMES = {
  failed: 'failed', not_executed: 'never ran', no_result: 'no answer recorded', truncated: 'answer cut by the recorder',
  receipt: 'answered by a receipt', answered: 'answered',
};

const isTrouble = (call) => outcomeOf(call) === 'failed' || outcomeOf(call) === 'not_executed';

const fits = (call) => {
  const { calls, levels, texts } = state;
  if (filters.tool !== '' && calls.tool[call] !== Number(filters.tool)) return false;
  if (filters.agent !== '' && calls.lane[call] !== Number(filters.agent)) return false;
  if (filters.level === 'any' && levels[call] === 0) return false;
  if (filters.level && filters.level !== 'any' && LEVELS[levels[call]] !== filters.level) return false;
  if (filters.outcome === 'repeated' && !calls.repeats[call]) return false;
  if (filters.outcome === 'trouble' && !isTrouble(call)) return false;
  if (filters.outcome && filters.outcome !== 'repeated' && filters.outcome !== 'trouble' && outcomeOf(call) !== filters.outcome) return false;
  if (filters.words === '') return true;
  return texts[call].includes(filters.words) || (filters.deep !== null && filters.deep.has(call));
};

const mark = (call) => {
  const level = LEVELS[state.levels[call]];
  if (level) return make('span', `tag ${level}`, level);
  const outcome = outcomeOf(call);
  return outcome === 'answered' ? null : make('span', 'tag quiet', OUTCOMES[outcome]);
};

const row = (place) => {
  const call = state.shown[place];
  const { calls, index } = state;
  const node = make('div', 'row');
  node.id = `row${call}`;
  node.setAttribute('role', 'option');
  node.setAttribute('aria-selected', call === state.chosen ? 'true' : 'false');
  node.setAttribute('aria-setsize', state.shown.length);
  node.setAttribute('aria-posinset', place + 1);
  node.style.transform = `translateY(${place * ROW}px)`;
  node.dataset.call = call;
  const swatch = make('span', `swatch ${EFFECTS[calls.effect[call]]}`);
  swatch.title = EFFECTS[calls.effect[call]];
  const found = mark(call);
  node.append(make('span', 'number', String(numberOf(call))), swatch, put(make('span', 'tool'), index.tools[calls.tool[call]]), put(make('span', 'arg'), calls.summary[call]));
  if (state.levels[call] > 0 && isTrouble(call)) node.append(make('span', 'tag quiet', OUTCOMES[outcomeOf(call)]));
  if (found) node.append(found);
  const duration = calls.took ? took(calls.took[call]) : '';
  if (duration) node.append(make('span', 'took', duration));
  return node;
};

/** The index of a call in its own recording. */
const numberOf = (call) => call - state.index.files[fileOf(call)].first;

const fileOf = (call) => state.index.lanes[state.calls.lane[call]].file;

let drawn = null;
const drawList = () => {
  const list = byId('list');
  const from = Math.max(0, Math.floor(list.scrollTop / ROW) - SPARE);
  const to = Math.min(state.shown.length, Math.ceil((list.scrollTop + list.clientHeight) / ROW) + SPARE);
  const key = `${from} ${to} ${state.chosen} ${state.shown.length}`;
  if (drawn === key) return;
  drawn = key;
  const rows = [];
  for (let place = from; place < to; place += 1) rows.push(row(place));
  if (state.shown.length === 0) rows.push(make('p', 'empty', state.calls.count ? 'No call fits.' : 'There is no call.'));
  byId('room').replaceChildren(...rows);
  const active = state.chosen >= 0 && byId(`row${state.chosen}`);
  if (active) list.setAttribute('aria-activedescendant', active.id);
  else list.removeAttribute('aria-activedescendant');
};

const placeOf = (call) => {
  // the shown calls are in order
  let [from, to] = [0, state.shown.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (state.shown[middle] < call) from = middle + 1;
    else to = middle;
  }
  return from;
};

const reveal = (call) => {
  const list = byId('list');
  const top = placeOf(call) * ROW;
  if (top < list.scrollTop || top + ROW > list.scrollTop + list.clientHeight) list.scrollTop = Math.max(0, top - list.clientHeight / 3);
};

const refilter = () => {
  const { calls } = state;
  state.shown = [];
  for (let call = 0; call < calls.count; call += 1) if (fits(call)) state.shown.push(call);
  const all = state.shown.length === calls.count;
  byId('calls-count').textContent = all ? number(calls.count) : `${number(state.shown.length)} of ${number(calls.count)}`;
  byId('clear').hidden = all && filters.words === '';
  byId('room').style.height = `${Math.max(1, state.shown.length) * ROW}px`;
  drawn = null;
  drawList();
  if (state.chosen >= 0 && state.shown[placeOf(state.chosen)] === state.chosen) reveal(state.chosen);
  drawTimeline();
};

let looking = 0;
/** Looks through all texts of the page, one chunk at a time. */
const lookDeeper = async () => {
  looking += 1;
  const mine = looking;
  filters.deep = null;
  if (!byId('deep').checked || filters.words === '') return refilter();
  const { calls } = state;
  const hits = new Set();
  // the texts are JSON: what is searched may be written with escapes there
  const wanted = [filters.words, lower(JSON.stringify(filters.words).slice(1, -1))];
  const decoder = new TextDecoder();
  let [opened, bytes] = [-1, null];
  for (let call = 0; call < calls.count; call += 1) {
    if (calls.chunk[call] < 0) continue;
    if (calls.chunk[call] !== opened) {
      opened = calls.chunk[call];
      bytes = await chunk(opened);
      if (mine !== looking) return undefined;
      byId('calls-count').textContent = `searching: ${Math.floor((100 * call) / calls.count)} %`;
    }
    const text = lower(decoder.decode(bytes.subarray(calls.at[call], calls.at[call] + calls.args[call] + calls.answer[call])));
    if (wanted.some((words) => text.includes(words))) hits.add(call);
  }
  filters.deep = hits;
  return refilter();
};

const clearFilters = () => {
  Object.assign(filters, { words: '', deep: null, tool: '', level: '', agent: '', outcome: '' });
  for (const id of ['search', 'by-tool', 'by-level', 'by-agent', 'by-outcome']) byId(id).value = '';
  looking += 1;
  refilter();
};

/** A choice among values, each with how many calls it has. */
const choices = (id, all, entries) => {
  const select = byId(id);
  const option = (value, text) => {
    const node = make('option', '', plain(text));
    node.value = value;
    return node;
  };
  select.replaceChildren(option('', all), ...entries.map(([value, text, count]) => option(value, `${text.length > 60 ? `${text.slice(0, 59)}…` : text} (${number(count)})`)));
  select.disabled = entries.length === 0;
};

const tally = (values) => {
  const counts = new Map();
  for (const value of values) counts.set(value, (counts.get(value) || 0) + 1);
  return counts;
};

const fillFilters = () => {
  const { calls, index, levels } = state;
  const most = (counts) => [...counts].sort((a, b) => b[1] - a[1] || a[0] - b[0]);
  choices('by-tool', 'Tool', most(tally(calls.tool)).map(([tool, count]) => [tool, index.tools[tool], count]));
  choices('by-agent', 'Agent', [...tally(calls.lane)].map(([lane, count]) => [lane, laneName(lane), count]));
  const graded = tally(levels);
  const withFindings = calls.count - (graded.get(0) || 0);
  choices('by-level', 'Level', [
    ...(withFindings ? [['any', 'with findings', withFindings]] : []),
    ...[3, 2, 1].filter((level) => graded.get(level)).map((level) => [LEVELS[level], LEVELS[level], graded.get(level)]),
  ]);
  const outcomes = new Map();
  let [troubles, repeats] = [0, 0];
  for (let call = 0; call < calls.count; call += 1) {
    const outcome = outcomeOf(call);
    outcomes.set(outcome, (outcomes.get(outcome) || 0) + 1);
    troubles += isTrouble(call) ? 1 : 0;
    repeats += calls.repeats[call];
  }
  choices('by-outcome', 'Outcome', [
    ...(troubles ? [['trouble', 'failed or never ran', troubles]] : []),
    ...Object.keys(OUTCOMES).filter((outcome) => outcomes.get(outcome)).map((outcome) => [outcome, OUTCOMES[outcome], outcomes.get(outcome)]),
    ...(repeats ? [['repeated', 'made before', repeats]] : []),
  ]);
};
