// The timeline: a lane an agent, calls by what they do, findings at their calls. Drawn, not built: the list below holds
// the same calls for those who cannot see it.

const LANE = 22;
const NARROWEST = 2;
/** Lanes that are drawn: a canvas has its limits. */
const MOST_LANES = 180;
const timeline = { byTime: false, zoom: 1, axis: null, colors: null };

/** Where each call begins and ends, from 0 to 1. */
const axisByOrder = () => {
  const { count } = state.calls;
  return { from: (call) => call / count, to: (call) => (call + 1) / count, breaks: [] };
};

/** By the recorded times; long idle stretches are cut short and marked. */
const axisByTime = () => {
  const { count, start, took: durations } = state.calls;
  const order = [];
  for (let call = 0; call < count; call += 1) if (start[call] !== null) order.push(call);
  order.sort((a, b) => start[a] - start[b] || a - b);
  const gaps = order.slice(1).map((call, place) => start[call] - start[order[place]]).sort((a, b) => a - b);
  const longest = Math.max(1, (gaps[Math.floor(gaps.length / 2)] || 1) * 25);
  const place = new Float64Array(count).fill(-1);
  const breaks = [];
  let at = 0;
  order.forEach((call, number) => {
    if (number > 0) {
      const gap = start[call] - start[order[number - 1]];
      at += Math.min(gap, longest);
      if (gap > longest) breaks.push(at - longest / 2);
    }
    place[call] = at;
  });
  const last = order.length ? order[order.length - 1] : -1;
  const span = Math.max(1, at + Math.min(longest, (last >= 0 && durations && durations[last]) || 1));
  // a call without a time stands where the one before it does
  for (let call = 0, before = 0; call < count; call += 1) {
    if (place[call] < 0) place[call] = before;
    before = place[call];
  }
  const long = (call) => Math.min(longest, (durations && durations[call]) || 0);
  return { from: (call) => place[call] / span, to: (call) => (place[call] + long(call)) / span, breaks: breaks.map((one) => one / span) };
};

const readColors = () => {
  const style = getComputedStyle(document.documentElement);
  const color = (name) => style.getPropertyValue(`--${name}`).trim();
  const names = [...EFFECTS, 'failed', 'error', 'warning', 'note', 'line', 'focus', 'quiet'];
  timeline.colors = Object.fromEntries(names.map((name) => [name, color(name)]));
};

let waiting = false;
const drawTimeline = () => {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    paintTimeline();
  });
};

const paintTimeline = () => {
  const { calls, index, levels } = state;
  const [scroll, canvas] = [byId('scroll'), byId('canvas')];
  const width = Math.max(50, scroll.clientWidth);
  const lanes = Math.min(index.lanes.length, MOST_LANES);
  const ratio = window.devicePixelRatio || 1;
  const tall = Math.max(1, lanes) * LANE;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(tall * ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${tall}px`;
  byId('width').style.width = `${width * timeline.zoom}px`;
  byId('width').style.height = timeline.zoom > 1 ? '1px' : '0';
  const ink = canvas.getContext('2d');
  ink.scale(ratio, ratio);
  const { colors, axis } = timeline;
  const whole = (width - 8) * timeline.zoom;
  const shift = 4 - scroll.scrollLeft;
  const x = (place) => place * whole + shift;
  ink.strokeStyle = colors.line;
  ink.lineWidth = 1;
  for (let lane = 0; lane < lanes; lane += 1) {
    ink.beginPath();
    ink.moveTo(0, lane * LANE + LANE - 0.5);
    ink.lineTo(width, lane * LANE + LANE - 0.5);
    ink.stroke();
  }
  ink.setLineDash([2, 3]);
  for (const place of axis.breaks) {
    ink.beginPath();
    ink.moveTo(x(place), 0);
    ink.lineTo(x(place), tall);
    ink.stroke();
  }
  ink.setLineDash([]);
  const few = state.shown.length < calls.count;
  const shown = few ? new Set(state.shown) : null;
  const box = (call) => {
    const left = x(axis.from(call));
    return [left, Math.max(NARROWEST, x(axis.to(call)) - left - (whole / calls.count > 5 ? 1 : 0)), calls.lane[call] * LANE];
  };
  const each = (draw, hidden = false) => {
    for (let call = 0; call < calls.count; call += 1) {
      if (hidden === (!shown || shown.has(call))) continue;
      const [left, wide, top] = box(call);
      if (left + wide >= 0 && left <= width) draw(call, left, wide, top);
    }
  };
  // what a filter hides is still where it was
  each((call, left, wide, top) => {
    ink.fillStyle = colors.line;
    ink.fillRect(left, top + 7, wide, 11);
  }, true);
  each((call, left, wide, top) => {
    ink.fillStyle = colors[EFFECTS[calls.effect[call]]];
    ink.fillRect(left, top + 7, wide, 11);
  });
  each((call, left, wide, top) => {
    if (!isTrouble(call)) return;
    ink.fillStyle = colors.failed;
    ink.fillRect(left, top + 15, wide, 4);
  });
  for (let level = 1; level <= 3; level += 1) {
    each((call, left, wide, top) => {
      if (levels[call] !== level) return;
      const middle = left + Math.min(wide, 12) / 2;
      ink.fillStyle = colors[LEVELS[level]];
      ink.fillRect(middle - 1, top + 5, 2, 13);
      ink.beginPath();
      ink.moveTo(middle - 4, top + 1);
      ink.lineTo(middle + 4, top + 1);
      ink.lineTo(middle, top + 7);
      ink.fill();
    });
  }
  if (state.chosen >= 0) {
    const [left, wide, top] = box(state.chosen);
    ink.strokeStyle = colors.focus;
    ink.lineWidth = 2;
    ink.strokeRect(left - 2, top + 5, wide + 4, 15);
  }
};

/** The call at a place of the canvas; -1 if none is near. */
const callAt = (event) => {
  const { calls } = state;
  const canvas = byId('canvas').getBoundingClientRect();
  const lane = Math.floor((event.clientY - canvas.top) / LANE);
  const whole = (canvas.width - 8) * timeline.zoom;
  const place = (event.clientX - canvas.left - 4 + byId('scroll').scrollLeft) / whole;
  let [best, nearest] = [-1, 8 / whole];
  for (let call = 0; call < calls.count; call += 1) {
    if (calls.lane[call] !== lane) continue;
    const [from, to] = [timeline.axis.from(call), timeline.axis.to(call)];
    const away = place < from ? from - place : Math.max(0, place - to);
    // of several the one with the gravest finding
    if (away < nearest || (away <= nearest && best >= 0 && state.levels[call] > state.levels[best])) [best, nearest] = [call, away];
  }
  return best;
};

const setZoom = (zoom) => {
  const scroll = byId('scroll');
  const width = scroll.clientWidth;
  // around the chosen call, else around what is in the middle
  const middle = state.chosen >= 0 ? timeline.axis.from(state.chosen) : (scroll.scrollLeft + width / 2) / (width * timeline.zoom);
  timeline.zoom = Math.min(512, Math.max(1, zoom));
  byId('width').style.width = `${width * timeline.zoom}px`;
  byId('width').style.height = timeline.zoom > 1 ? '1px' : '0';
  scroll.scrollLeft = middle * width * timeline.zoom - width / 2;
  drawTimeline();
};

/** Brings a call into the stretch that is seen. */
const showOnTimeline = (call) => {
  const scroll = byId('scroll');
  const place = timeline.axis.from(call) * scroll.clientWidth * timeline.zoom;
  if (place < scroll.scrollLeft || place > scroll.scrollLeft + scroll.clientWidth) scroll.scrollLeft = place - scroll.clientWidth / 2;
  const [lanes, top] = [byId('lanes'), state.calls.lane[call] * LANE];
  if (top < lanes.scrollTop || top + LANE > lanes.scrollTop + lanes.clientHeight) lanes.scrollTop = top - lanes.clientHeight / 2;
  drawTimeline();
};

const setAxis = (byTime) => {
  timeline.byTime = byTime;
  timeline.axis = byTime ? axisByTime() : axisByOrder();
  byId('axis').textContent = byTime ? 'By order' : 'By time';
  drawTimeline();
};

const startTimeline = () => {
  const { calls, index } = state;
  const labels = index.lanes.slice(0, MOST_LANES).map((lane, place) => {
    const label = put(make('button'), laneName(place));
    label.setAttribute('aria-pressed', 'false');
    label.title = plain(`${laneName(place)}: ${counted(lane.calls, 'call')}`);
    label.addEventListener('click', () => {
      filters.agent = filters.agent === String(place) ? '' : String(place);
      byId('by-agent').value = filters.agent;
      refilter();
      byId('labels').querySelectorAll('button').forEach((other, number) => other.setAttribute('aria-pressed', String(filters.agent === String(number))));
    });
    return label;
  });
  const more = index.lanes.length - labels.length;
  if (more > 0) labels.push(make('p', 'empty', `${counted(more, 'agent')} more: choose one by the filter`));
  byId('labels').replaceChildren(...labels);
  const used = EFFECTS.filter((_, effect) => calls.effect.includes(effect));
  const key = (kind, text) => make('span', 'key', make('i', kind), ` ${text}`);
  const words = { 'read-only': 'reads', session: "the agent's own notes", mutates: 'changes something', unknown: 'effect unknown', undeclared: 'effect not declared' };
  const keys = used.map((effect) => key(effect, words[effect]));
  if (state.index.findings.some((finding) => finding.call >= 0)) keys.push(key('found', 'finding'));
  for (let call = 0; call < calls.count; call += 1) {
    if (isTrouble(call)) {
      keys.push(key('failed', 'failed or never ran'));
      break;
    }
  }
  byId('keys').replaceChildren(...keys.flatMap((one) => [one, ' ']));
  const timed = calls.start ? calls.start.filter((one) => one !== null).length : 0;
  byId('axis').hidden = timed < 2 || timed < calls.count * 0.8;
  byId('canvas').setAttribute('aria-label', `Timeline: ${counted(calls.count, 'call')} of ${counted(index.lanes.length, 'agent')}. The list of calls below holds the same.`);
  readColors();
  setAxis(!byId('axis').hidden);
};
