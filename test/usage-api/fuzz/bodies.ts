import { gzipSync } from 'node:zlib';

/** Numbers in [0, 1) that a seed decides (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** What a service sends: the body on its way, and what it says of it. */
export interface Sent {
  status: number;
  headers: Record<string, string>;
  chunks: Buffer[];
  /** Without its encoding. */
  body: Buffer;
  /** Whether that can be told at all: what is packed wrongly cannot be unpacked. */
  packedRightly: boolean;
  tenantId: string | null;
}

/** JSON as text: figures that no double holds, names that stand twice and what is no JSON can be written. */
type Fields = [name: string, text: string][];

const FIGURES = ['0', '1', '17', '250000', '9007199254740991', '9007199254740993', '9223372036854775807'];
const ODD_FIGURES = [
  ...[
    '-1',
    '-0',
    '1.0',
    '1.5',
    '1e3',
    '1E+2',
    '12e-1',
    '100e-2',
    '1e400',
    '-9223372036854775807',
    '9223372036854775808',
  ],
  ...[
    '-9223372036854775808',
    '12345678901234567890.0',
    '90071992547409930e-1',
    '9007199254740993.00',
    '0.1e1',
    '01',
    '+1',
  ],
  ...[
    '1.00000000000000000001',
    '0.99999999999999999999',
    '4503599627370496.5',
    '1e-400',
    '.5',
    '1.',
    '0x10',
    'NaN',
    '1_000',
  ],
];
const ODD_TEXTS = [
  ...[
    '""',
    '"5"',
    '"\\ud800"',
    '"\\u0000"',
    '"a\\u0062"',
    '"\\x41"',
    '"\t"',
    '"é😀"',
    '"__proto__"',
    '"ws-1 "',
    '"t-3"',
  ],
  ...[
    '"2026-13"',
    '"2026-1"',
    '"2026-02"',
    '"2026-02-01"',
    '"2026-02-01 00:00"',
    '"2026-02-30T00:00:00"',
    '"20260201T000000Z"',
  ],
];
const ODD_VALUES = [
  'null',
  'true',
  'false',
  '[]',
  '{}',
  '[1]',
  'undefined',
  'Infinity',
  '-',
  '',
  '"',
  "'x'",
  '7',
  '"x"',
];
/** Fields that are numbers; of the others most are text. */
const COUNTS = ['credits_used', 'request_count', 'total_records', 'total_pages'];
const NAMES = ['t-1', 't-2', 'Müller', '名前', 'a/b', '\u0000', 'x'.repeat(60), '__proto__', 'constructor', '5'];
const ODD_BYTES = [0, 0x22, 0x5c, 0x2c, 0x7d, 0x5d, 0x30, 0x65, 0x2d, 0x2e, 0x20, 0x0c, 0x80, 0xc0, 0xed, 0xef, 0xff];
const STATUSES = [201, 204, 299, 300, 304, 400, 401, 404, 429, 500, 599];

/** A page that is right, with nothing to three things done to it. */
export function makeBody(random: () => number): Sent {
  const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;
  const chance = (probability: number): boolean => random() < probability;
  const tenantId = chance(0.3) ? pick(NAMES) : null;
  const changes = chance(0.35) ? 0 : 1 + Math.floor(random() * 3);
  const isStructural = chance(0.7);

  const month = 1 + Math.floor(random() * 12);
  const period = `2026-${String(month).padStart(2, '0')}`;
  const lastDay = new Date(Date.UTC(2026, month, 0)).getUTCDate();
  const zone = pick(['', 'Z', '.000Z']);
  const items = Array.from(
    { length: Math.floor(random() * 4) },
    (): Fields => [
      ['tenant_id', JSON.stringify(tenantId ?? pick(NAMES))],
      ['period', `"${period}"`],
      ['period_start', `"${period}-01T00:00:00${zone}"`],
      ['period_end', `"${period}-${lastDay}T23:59:59${zone}"`],
      ['credits_used', pick(FIGURES)],
      ['request_count', pick(FIGURES)],
    ],
  );
  const data: Fields = [
    ['workspace_id', '"ws-1"'],
    ...(tenantId === null ? [] : ([['tenant_id', JSON.stringify(tenantId)]] satisfies Fields)),
    ['usage', ''],
    ['total_records', String(items.length + Math.floor(random() * 200))],
    ['total_pages', String(1 + Math.floor(random() * 5))],
  ];
  const envelope: Fields = [
    ['message', '"ok"'],
    ['success', 'true'],
    ['data', ''],
  ];

  const groups = [envelope, data, ...items, ...items, ...items];
  const change = (fields: Fields): void => {
    const at = Math.floor(random() * fields.length);
    const [name] = fields[at] ?? ['x'];
    const odd = chance(0.75) ? (COUNTS.includes(name) ? ODD_FIGURES : ODD_TEXTS) : ODD_VALUES;
    const kind = random();
    if (kind < 0.6) fields[at] = [name, pick(odd)];
    else if (kind < 0.68) fields.splice(at, 1);
    else if (kind < 0.75) fields.push([name, pick([...odd, ...FIGURES])]);
    else if (kind < 0.82) fields.push([pick(['extra', '__proto__', 'toString', 'credits', '']), pick(ODD_VALUES)]);
    else if (kind < 0.93) fields.sort(() => random() - 0.5);
    else fields[at] = [`${name}${pick([' ', 's', '\\u0020', '"'])}`, fields[at]?.[1] ?? ''];
  };
  if (isStructural) for (let i = 0; i < changes; i += 1) change(pick(groups));

  const space = pick(['', '', ' ', '\n\t']);
  const written = (fields: Fields): string =>
    `{${fields.map(([name, text]) => `${space}"${name}":${space}${text}`).join(',')}}`;
  const listing = `[${items.map(written).join(`,${space}`)}]`;
  const filled = (fields: Fields, name: string, text: string): Fields =>
    fields.map(([own, value]) => [own, own === name && value === '' ? text : value]);
  const text = written(filled(envelope, 'data', written(filled(data, 'usage', listing))));
  let body: Buffer = Buffer.from(text);

  if (!isStructural) for (let i = 0; i < changes; i += 1) body = scar(body, random, pick);
  return send(body, random, { tenantId, pick, chance });
}

/** Cuts, flips, doubles or puts in some bytes. */
function scar(body: Buffer, random: () => number, pick: <T>(values: readonly T[]) => T): Buffer {
  const at = Math.floor(random() * body.length);
  const until = at + 1 + Math.floor(random() * 6);
  const kind = random();
  const [head, tail] = [body.subarray(0, at), body.subarray(at)];
  if (kind < 0.25) return Buffer.concat([head, Buffer.from([pick(ODD_BYTES)]), tail.subarray(1)]);
  if (kind < 0.45) return Buffer.concat([head, Buffer.from([pick(ODD_BYTES)]), tail]);
  if (kind < 0.6) return Buffer.concat([head, body.subarray(until)]);
  if (kind < 0.7) return Buffer.concat([body.subarray(0, until), tail]);
  if (kind < 0.8) return head;
  if (kind < 0.85) return Buffer.concat([Buffer.from('\ufeff'), body]);
  if (kind < 0.9) return Buffer.concat([body, pick([Buffer.from(' \n'), body, Buffer.from('x')])]);
  const depth = Math.floor(random() * 400);
  return Buffer.concat([head, Buffer.from('['.repeat(depth) + ']'.repeat(depth)), tail]);
}

interface Means {
  tenantId: string | null;
  pick: <T>(values: readonly T[]) => T;
  chance: (probability: number) => boolean;
}

/** In pieces, packed or not; sometimes with another status, and packed wrongly. */
function send(body: Buffer, random: () => number, { tenantId, pick, chance }: Means): Sent {
  const status = chance(0.9) ? 200 : pick(STATUSES);
  const headers: Record<string, string> = { 'content-type': 'application/json' };
  let wire = body;
  let packedRightly = true;
  if (chance(0.2)) {
    headers['content-encoding'] = pick(['gzip', 'GZIP', 'x-gzip', 'identity', 'br']);
    const packs = headers['content-encoding'].toLowerCase().endsWith('gzip');
    if (packs) wire = gzipSync(body, { level: 1 });
    if (packs && chance(0.2)) {
      wire = wire.subarray(0, Math.floor(random() * (wire.length - 8)));
      packedRightly = false;
    }
    if (headers['content-encoding'] === 'br') packedRightly = false;
  }
  const cut = Math.floor(random() * (wire.length + 1));
  return { status, headers, chunks: [wire.subarray(0, cut), wire.subarray(cut)], body, packedRightly, tenantId };
}
