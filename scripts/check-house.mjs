// Checks the house: imports go down the list of rooms only, modules do not import each other in a circle, there are no
// barrels, objects are written property by property, time and chance come through core's ports,
// and requests leave through `net`.
import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** From the top of the house to its foundation; a room may import from itself and from the rooms below it. */
const ROOMS = [
  'commands',
  'daemon',
  'operations',
  'wiring',
  'freshness',
  'queue',
  'outlets',
  'publish',
  'sync',
  'writer',
  's3',
  'reports',
  'alerts',
  'ledger',
  'usage-api',
  'sandbox',
  'config',
  'verifier',
  'billing',
  'input-files',
  'net',
  'speed',
  'look',
  'core',
];
/** Inside a room, from its top to its foundation: folders and files; a file belongs to the longest path that it begins with. */
const INSIDE = {
  alerts: [
    'queries',
    'backtest',
    'channels',
    'evaluate-run.ts',
    'evaluate-system.ts',
    'actions.ts',
    'end-alerts.ts',
    'outbox',
    'messages',
    'pipeline',
    'state',
    'rules',
    'messages/facts',
    'forecast',
    'figures',
  ],
  ledger: ['transfer', 'audit', 'journal', 'store'],
  reports: ['page', 'statement', 'files', 'xlsx', 'queries', 'formats'],
};
/**
 * The sandbox imports core only: a stand-in that shared code with the client would agree with its mistakes. The ledger
 * knows nothing of HTTP or of the service's JSON; prices are arithmetic, and know nothing of SQL; a
 * verifier that imported the ledger could run nowhere else.
 */
const ONLY = {
  sandbox: ['core'],
  queue: ['core'],
  ledger: ['billing', 'speed', 'core'],
  verifier: ['billing', 'core'],
  billing: ['core'],
  'input-files': ['core'],
  speed: ['core'],
  look: ['core'],
  net: ['core'],
};
/** Sentences are made of facts alone: a channel that renders one needs no ledger. */
const SENTENCES =
  /^alerts\/(?:messages\/(?:facts\/|(?:sentence|group-sentence|fact-list|next-commands|quiet-setting|muted)\.ts)|rules\/(?:(?:kind|message)\.ts|[^/]+\/(?:kind|message)\.ts))/;
/** The fence around code that is only there for speed: no other room than these may depend on it. See src/speed/README.md. */
const ONLY_FOR = { speed: ['ledger', 'writer'] };
/** Time, timers and chance come from `core/clock.ts` and `core/randomness.ts`, so that a test can say what they are. */
const BARE =
  /\bDate\.now\b|\bnew Date\(\s*\)|\bperformance\.now\b|\bprocess\.hrtime\b|\bMath\.random\b|\brandom(?:Bytes|UUID|Int)\b|\bset(?:Timeout|Interval)\b|\btimers\/promises\b|\bAbortSignal\.timeout\b/;
/** Who has them. */
const BARE_ALLOWED = ['core'];
/** Requests leave through `net`, which has the proxy, certificates, address guard and deadlines. Types may be imported anywhere. */
const OUTBOUND = /^import (?!type\b).*from 'undici'|import\('undici'\)|(?<![\w.#])fetch\(|\bhttps?\.(?:request|get)\(/m;
const OUTBOUND_ALLOWED = ['net'];
/** An object spread into another only to save lines: its properties are written out. */
const SPREAD_LITERAL = /\.\.\.\{/;
const FORBIDDEN_NAMES = ['index.ts', 'utils.ts', 'helpers.ts'];

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const src = join(root, 'src');
const faults = [];
const files = sourcesIn(src);
const importsOf = new Map(files.map((file) => [file, readImports(file)]));

for (const [file, imports] of importsOf) {
  const room = roomOf(file);
  const name = relative(root, file);
  if (FORBIDDEN_NAMES.includes(basename(file))) faults.push(`${name}: a file is named after its role`);
  if (!BARE_ALLOWED.includes(room)) {
    const [bare] = BARE.exec(readFileSync(file, 'utf8')) ?? [];
    if (bare !== undefined) faults.push(`${name}: ${bare} of its own; core/clock.ts and core/randomness.ts have it`);
  }
  if (!OUTBOUND_ALLOWED.includes(room)) {
    const [call] = OUTBOUND.exec(readFileSync(file, 'utf8')) ?? [];
    if (call !== undefined) faults.push(`${name}: ${call} sends past net/http-client.ts`);
  }
  if (SPREAD_LITERAL.test(readFileSync(file, 'utf8'))) {
    faults.push(`${name}: spreads an object literal into another; write its properties out`);
  }
  for (const target of imports) {
    if (!importsOf.has(target)) faults.push(`${name}: imports ${relative(root, target)}, which is not there`);
    else if (!mayImport(room, roomOf(target)))
      faults.push(`${name}: ${room} must not import ${relative(root, target)}`);
    else if (!mayImportInside(file, target))
      faults.push(`${name}: must not import ${relative(root, target)}, which is above it in ${room}`);
    else if (SENTENCES.test(relative(src, file)) && !['alerts', 'core'].includes(roomOf(target)))
      faults.push(`${name}: must not import ${relative(root, target)}: sentences are made of facts`);
  }
}
for (const circle of findCircles()) faults.push(`circle: ${circle.map((file) => relative(src, file)).join(' -> ')}`);

for (const fault of faults) process.stderr.write(`${fault}\n`);
process.stdout.write(`house: ${files.length} files, ${faults.length} faults\n`);
process.exitCode = faults.length === 0 ? 0 : 1;

function sourcesIn(folder) {
  return readdirSync(folder, { recursive: true })
    .filter((file) => /\.tsx?$/.test(file))
    .map((file) => join(folder, file));
}

function roomOf(file) {
  const [room] = relative(src, file).split('/');
  return room.endsWith('.ts') ? 'commands' : room;
}

function mayImport(from, to) {
  if (from === to) return true;
  if (ONLY_FOR[to] !== undefined && !ONLY_FOR[to].includes(from)) return false;
  if (ONLY[from] !== undefined) return ONLY[from].includes(to);
  if (!ROOMS.includes(from) || !ROOMS.includes(to)) return false;
  return ROOMS.indexOf(to) > ROOMS.indexOf(from);
}

function mayImportInside(file, target) {
  const room = roomOf(file);
  const order = INSIDE[room];
  if (order === undefined || room !== roomOf(target)) return true;
  const from = floorOf(order, relative(join(src, room), file));
  return from >= 0 && floorOf(order, relative(join(src, room), target)) >= from;
}

/** Returns the place in the order of a room that a file belongs to; -1 where there is none. */
function floorOf(order, file) {
  const places = order.filter((place) => file === place || file.startsWith(`${place}/`));
  return order.indexOf(places.sort((a, b) => b.length - a.length)[0]);
}

function readImports(file) {
  const text = readFileSync(file, 'utf8');
  const specifiers = text.matchAll(/^(?:import|export)\s[^;]*?from\s+'(\.[^']+)'|import\(\s*'(\.[^']+)'\s*\)/gm);
  return [...specifiers].map(([, fromStatic, fromDynamic]) => resolve(dirname(file), fromStatic ?? fromDynamic));
}

function findCircles() {
  const done = new Set();
  const circles = [];
  const visit = (file, path) => {
    const at = path.indexOf(file);
    if (at >= 0) circles.push([...path.slice(at), file]);
    if (at >= 0 || done.has(file)) return;
    for (const target of importsOf.get(file) ?? []) visit(target, [...path, file]);
    done.add(file);
  };
  for (const file of files) visit(file, []);
  return circles;
}
