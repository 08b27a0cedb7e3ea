// The page as a whole: what went wrong comes first, then where; keys and filters.

/** Rows that are printed: paper is no place for more. */
const PRINTED = 3000;

const choose = (call, elsewhere = false) => {
  if (call < 0 || call >= state.calls.count) return;
  state.chosen = call;
  // a call that a filter hides is shown without it
  if (elsewhere && state.shown[placeOf(call)] !== call) clearFilters();
  reveal(call);
  drawn = null;
  drawList();
  showOnTimeline(call);
  for (const button of byId('findings-list').querySelectorAll('button')) {
    const finding = state.index.findings[Number(button.dataset.finding)];
    if (finding.call === call) button.setAttribute('aria-current', 'true');
    else button.removeAttribute('aria-current');
  }
  history.replaceState(null, '', `#call-${call}`);
  showDetail(call);
};

const step = (by) => {
  if (state.shown.length === 0) return;
  const place = placeOf(state.chosen);
  const here = state.shown[place] === state.chosen;
  const next = state.chosen < 0 ? 0 : place + (here || by < 0 ? by : 0);
  choose(state.shown[Math.min(state.shown.length - 1, Math.max(0, next))]);
};

let finding = -1;
const stepFinding = (by) => {
  const { findings } = state.index;
  for (let tries = 0, place = finding; tries < findings.length; tries += 1) {
    place = (place + by + findings.length) % findings.length;
    if (findings[place].call >= 0) {
      chooseFinding(place);
      return;
    }
  }
};

const chooseFinding = (place) => {
  finding = place;
  const { call } = state.index.findings[place];
  if (call >= 0) choose(call, true);
  const button = byId('findings-list').querySelector(`button[data-finding="${place}"]`);
  if (button) button.scrollIntoView({ block: 'nearest' });
};

/** One finding of the list. */
const findingItem = (one, place) => {
  const { calls, tools, files } = state.index;
  const where = one.line > 0 ? `${one.path}:${one.line}` : one.path;
  const what = put(make('span', 'what'), one.message);
  const head = make('span', '', make('span', `tag ${one.level}`, one.level), ' ', make('span', 'mono', one.rule), one.call >= 0 ? ` · call ${numberOf(one.call)}` : '');
  const button = make('button', '', head, what);
  if (one.call >= 0) {
    const called = make('span', 'called mono');
    put(called, `${tools[calls.tool[one.call]]}  ${calls.summary[one.call]}`);
    button.append(called);
  }
  if (one.call < 0 || files.length > 1) button.append(put(make('span', 'called'), where));
  button.dataset.finding = place;
  button.addEventListener('click', () => chooseFinding(place));
  return make('li', `finding ${one.level}`, button);
};

/** Findings are shown in portions: a run may have very many. */
const PORTION = 300;
const showFindings = () => {
  const { findings, findings_left_out: leftOut } = state.index;
  const list = byId('findings-list');
  byId('findings-count').textContent = findings.length ? number(findings.length + leftOut) : '';
  if (findings.length === 0) {
    list.replaceChildren(make('li', 'empty', state.index.clean));
    return;
  }
  let shown = 0;
  const more = make('button', 'noprint');
  const last = make('li', 'empty', more);
  const grow = () => {
    const portion = findings.slice(shown, shown + PORTION).map((one, place) => findingItem(one, shown + place));
    shown += portion.length;
    last.before(...portion);
    more.textContent = `Show more: ${number(shown)} of ${number(findings.length)}`;
    more.hidden = shown >= findings.length;
    if (more.hidden) last.replaceChildren(leftOut ? `${number(leftOut)} more are not in this page; the other report formats have them all.` : '');
    last.hidden = last.childNodes.length === 0 || (more.hidden && !leftOut);
  };
  more.addEventListener('click', grow);
  list.replaceChildren(last);
  grow();
};

const showHead = () => {
  const { index } = state;
  const title = byId('verdict');
  title.className = index.mood;
  put(title, index.headline);
  put(byId('names'), index.names);
  byId('names').title = plain(index.names);
  byId('troubles').replaceChildren(...index.troubles.map((trouble) => put(make('li'), trouble)));
  const worst = index.findings.find((one) => one.call >= 0);
  if (worst) {
    const { calls, tools } = index;
    const where = make('button', '', `Show call ${numberOf(worst.call)}`);
    where.addEventListener('click', () => chooseFinding(index.findings.indexOf(worst)));
    const text = put(make('span'), `${worst.message}: `);
    byId('first').append('First: ', text, put(make('code'), `${tools[calls.tool[worst.call]]} ${calls.summary[worst.call]}`.slice(0, 160)), ' ', where);
  }
  byId('stats').replaceChildren(...index.stats.map(([name, value]) => make('div', '', put(make('dt'), name), put(make('dd'), value))));
  const said = byId('said');
  said.hidden = index.said.length === 0;
  byId('said-title').textContent = index.said_title;
  byId('said-list').replaceChildren(...index.said.map((text) => put(make('li'), text)));
};

const table = () => {
  const { calls, tools } = state.index;
  const rows = state.shown.slice(0, PRINTED).map((call) => {
    const cells = [String(numberOf(call)), tools[calls.tool[call]], calls.summary[call], [LEVELS[state.levels[call]], OUTCOMES[outcomeOf(call)]].filter(Boolean).join(', ')];
    return make('tr', '', ...cells.map((text) => put(make('td'), text)));
  });
  const head = make('tr', '', ...['call', 'tool', 'called with', 'outcome'].map((text) => make('th', '', text)));
  const rest = state.shown.length - rows.length;
  byId('printed').replaceChildren(make('h2', '', `Calls: ${number(rows.length)} of ${number(state.calls.count)}`), make('table', '', make('thead', '', head), make('tbody', '', ...rows)), rest > 0 ? make('p', '', `${number(rest)} more are not printed.`) : '');
};

const onKey = (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || byId('help').open) return;
  const typing = event.target.matches('input, select, textarea');
  if (event.key === 'Escape') {
    clearFilters();
    event.target.blur();
    return;
  }
  if (typing) return;
  const inList = event.target === byId('list');
  const page = Math.max(1, Math.floor(byId('list').clientHeight / ROW) - 1);
  const acts = {
    j: () => step(1), k: () => step(-1), n: () => stepFinding(1), p: () => stepFinding(-1),
    '/': () => byId('search').focus(), '?': () => byId('help').showModal(),
    f: () => {
      filters.outcome = filters.outcome === 'trouble' || byId('by-outcome').querySelector('[value="trouble"]') === null ? '' : 'trouble';
      byId('by-outcome').value = filters.outcome;
      refilter();
    },
    '+': () => setZoom(timeline.zoom * 2), '-': () => setZoom(timeline.zoom / 2),
    ...(inList ? {
      ArrowDown: () => step(1), ArrowUp: () => step(-1), PageDown: () => step(page), PageUp: () => step(-page),
      Home: () => choose(state.shown[0] ?? -1), End: () => choose(state.shown[state.shown.length - 1] ?? -1),
      Enter: () => byId('detail-body').focus(),
    } : {}),
  };
  const act = Object.hasOwn(acts, event.key) ? acts[event.key] : null;
  if (!act) return;
  event.preventDefault();
  act();
};

const listen = () => {
  document.addEventListener('keydown', onKey);
  byId('list').addEventListener('scroll', () => requestAnimationFrame(drawList), { passive: true });
  byId('list').addEventListener('click', (event) => {
    const node = event.target.closest('.row');
    if (node) choose(Number(node.dataset.call));
  });
  let typed = 0;
  byId('search').addEventListener('input', (event) => {
    filters.words = lower(event.target.value.trim());
    filters.deep = null;
    refilter();
    clearTimeout(typed);
    if (byId('deep').checked) typed = setTimeout(lookDeeper, 250);
  });
  byId('deep').addEventListener('change', lookDeeper);
  for (const [id, name] of [['by-tool', 'tool'], ['by-level', 'level'], ['by-agent', 'agent'], ['by-outcome', 'outcome']]) {
    byId(id).addEventListener('change', (event) => {
      filters[name] = event.target.value;
      refilter();
    });
  }
  byId('clear').addEventListener('click', clearFilters);
  byId('axis').addEventListener('click', () => setAxis(!timeline.byTime));
  byId('in').addEventListener('click', () => setZoom(timeline.zoom * 2));
  byId('out').addEventListener('click', () => setZoom(timeline.zoom / 2));
  byId('keyboard').addEventListener('click', () => byId('help').showModal());
  byId('help-close').addEventListener('click', () => byId('help').close());
  const canvas = byId('canvas');
  canvas.addEventListener('click', (event) => choose(callAt(event), true));
  canvas.addEventListener('mousemove', (event) => {
    const call = callAt(event);
    const { calls, tools } = state.index;
    const tip = byId('tip');
    tip.replaceChildren();
    if (call >= 0) put(tip, `${numberOf(call)}  ${tools[calls.tool[call]]}  ${calls.summary[call]}`);
  });
  byId('scroll').addEventListener('scroll', drawTimeline, { passive: true });
  window.addEventListener('resize', () => {
    drawn = null;
    drawList();
    drawTimeline();
  });
  window.addEventListener('beforeprint', table);
  window.addEventListener('hashchange', fromHash);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    readColors();
    drawTimeline();
  });
};

const fromHash = () => {
  const named = /^#call-(\d{1,9})$/.exec(location.hash);
  if (named && Number(named[1]) !== state.chosen) choose(Number(named[1]), true);
  return named !== null;
};

const start = async () => {
  try {
    await load();
  } catch (error) {
    document.body.replaceChildren(make('p', 'without', `This page is damaged, or the browser is too old for it: ${error.message}`));
    return;
  }
  const without = byId('without');
  if (without) without.remove();
  byId('page').hidden = false;
  showHead();
  startTimeline();
  fillFilters();
  showFindings();
  listen();
  refilter();
  if (!fromHash()) {
    const worst = state.index.findings.findIndex((one) => one.call >= 0);
    if (worst >= 0) chooseFinding(worst);
    else byId('detail-body').replaceChildren(make('p', 'empty', state.calls.count ? 'Choose a call to see what it was called with and what was answered.' : state.index.no_calls));
  }
  document.documentElement.dataset.ready = 'true';
};

start();
