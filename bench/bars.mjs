import { SITUATIONS } from './measure-sizes.mjs';

const MILLION = 1_000_000;
/** How many times the floor a whole sync of a million records may take. */
const TIMES_FLOOR = { unchanged: 1.2, changed: 1.7, empty: 3 };

/** How many times as long as the whole command a peer takes for a million records, at least. */
const PEER_BARS = [
  ['node', 'empty', 0.9],
  ['node', 'unchanged', 1.5],
  ['pipe', 'empty', 5],
  ['pipe', 'unchanged', 6],
];

/** Every bar with what was measured: `passed` is null where nothing was. */
export function holdAgainstBars({ sizes, card, latency, peers, start, daemon }) {
  const size = (records) => sizes?.find((one) => one.records === records) ?? null;
  const million = size(MILLION);
  const three = size(3 * MILLION);
  const script = start?.medians.script ?? null;
  const overScript = (value, field) => ratio(value ?? null, script?.[field] ?? null);
  const bars = [];
  const atMost = (name, limit, value, unit) => bars.push(bar(name, '<=', limit, value, unit));
  const atLeast = (name, limit, value, unit) => bars.push(bar(name, '>=', limit, value, unit));

  for (const name of ['unchanged', 'changed', 'empty']) {
    atMost(`1M ${name}: whole sync over floor`, TIMES_FLOOR[name], million?.ratios[name], 'x');
  }
  atMost('1M: event loop held up, any sync', 50, most(million, 'loopMaxMs'), 'ms');
  atMost('1M: peak memory, any sync', 400, most(million, 'rssMb'), 'MB');
  atMost('3M: peak memory over 1M', 1.3, ratio(most(three, 'rssMb'), most(million, 'rssMb')), 'x');
  for (const name of SITUATIONS) {
    atMost(`1M over 100k, ${name}`, 11, ratio(timeOf(million, name), timeOf(size(100_000), name)), 'x');
    atMost(`3M over 1M, ${name}`, 3.5, ratio(timeOf(three, name), timeOf(million, name)), 'x');
  }
  atMost('1M: ledger on disk after the first sync', 110, million?.medians.empty.ledgerMb, 'MB');
  atMost('10M: peak memory, any sync', 420, most(size(10 * MILLION), 'rssMb'), 'MB');
  atMost(
    '1M: first sync with a flat card over one without',
    1.4,
    card?.records === MILLION ? card.overPlain : null,
    'x',
  );
  const delayed = latency === null ? '80 ms latency' : `${latency.latencyMs} ms latency, ${latency.records} records`;
  atMost(`${delayed}: over ideal`, 1.2, latency?.overIdeal, 'x');
  atLeast(`${delayed}: faster than one by one`, 13, latency?.overSequential, 'x');
  for (const [peer, situation, limit] of PEER_BARS) {
    const ms = peers?.sizes.find(({ records }) => records === MILLION)?.ms;
    const times = ratio(ms?.[`${peer} ${situation}`] ?? null, ms?.[`usage-ledger ${situation}`] ?? null);
    atLeast(`1M ${situation}: ${peer}'s time over that of the command`, limit, times, 'x');
  }
  atMost('2,500 records: first sync over the script for Node', 1.8, overScript(start?.medians.first.ms, 'ms'), 'x');
  atMost(
    '2,500 records: first sync, processor time over the script',
    2.2,
    overScript(start?.medians.first.cpuMs, 'cpuMs'),
    'x',
  );
  atMost('status over the script for Node', 1.1, overScript(start?.medians.status.ms, 'ms'), 'x');
  atMost('daemon ready over the script for Node', 2.75, ratio(daemon?.readyMs ?? null, daemon?.scriptMs ?? null), 'x');
  atMost('idle daemon: CPU', 0.5, daemon?.cpuPercent, '%');
  const overLibraries = ratio(daemon?.rssMb ?? null, daemon?.librariesMb ?? null);
  atMost('idle daemon: memory over that of its libraries alone', 1.36, overLibraries, 'x');
  return bars;
}

function bar(name, sense, limit, value, unit) {
  const measured = value ?? null;
  const passed = measured === null ? null : sense === '<=' ? measured <= limit : measured >= limit;
  return { name, sense, limit, unit, measured, passed };
}

/** The worst median among the situations. */
function most(size, field) {
  return size === null ? null : Math.max(...SITUATIONS.map((name) => size.medians[name][field]));
}

function timeOf(size, name) {
  return size?.medians[name].ms ?? null;
}

function ratio(value, base) {
  return value === null || base === null ? null : value / base;
}
