import { PEER_SITUATIONS } from './measure-peers.mjs';
import { SITUATIONS } from './measure-sizes.mjs';

/** The whole result as lines of text. */
export function renderReport({ machine, sizes, card, latency, peers, start, daemon, bars, options }) {
  const lines = [
    '',
    `${machine.cpu}, ${machine.cores} cores, ${machine.memoryGb} GB, ${machine.system}, load ${machine.load.join(' ')}`,
    `Node ${machine.node}, SQLite ${machine.sqlite}, undici ${machine.undici}, usage-ledger ${machine['usage-ledger']}`,
  ];
  if (sizes !== null) lines.push('', ...renderSizes(sizes));
  if (card !== null) {
    const { records, plainMs, pricedMs, rssMb } = card;
    const priced = `with a flat card ${seconds(pricedMs)}, ${megabytes(rssMb)}`;
    lines.push('', `first sync of ${count(records)} records: ${seconds(plainMs)}, ${priced}`);
  }
  if (latency !== null) {
    const { records, latencyMs, concurrency, parallelMs, idealMs, sequentialMs } = latency;
    lines.push(
      '',
      `${count(records)} records at ${latencyMs} ms latency: ${seconds(parallelMs)} with ${concurrency} in flight`,
    );
    lines.push(
      `  ideal ${seconds(idealMs)}, one after the other ${sequentialMs === null ? 'not measured' : seconds(sequentialMs)}`,
    );
  }
  if (peers !== null) lines.push('', ...renderPeers(peers));
  if (start !== null) lines.push('', ...renderStart(start));
  if (daemon !== null) lines.push('', renderDaemon(daemon));
  lines.push('', options.quick ? 'Bars (indicative: a quick run decides nothing)' : 'Bars', ...bars.map(renderBar));
  return lines.join('\n');
}

function renderSizes(sizes) {
  const header = ['records', 'ledger', 'time', 'x floor', 'records/s', 'walk', 'apply', 'CPU', 'loop max', 'memory'];
  const rows = [[...header, 'ledger', 'WAL', 'n']];
  for (const { records, medians, ratios, rounds } of sizes) {
    const { floor } = medians;
    const n = String(rounds.length);
    const speed = count(Math.round(records / (floor.ms / 1_000)));
    rows.push([
      count(records),
      '(floor)',
      seconds(floor.ms),
      '1.00',
      speed,
      '',
      '',
      seconds(floor.cpuMs),
      '',
      '',
      '',
      '',
      n,
    ]);
    for (const name of SITUATIONS) {
      const { ms, walkMs, applyMs, cpuMs, loopMaxMs, rssMb, ledgerMb, walMb } = medians[name];
      const times = [seconds(ms), ratios[name].toFixed(2), count(Math.round(records / (ms / 1_000)))];
      const parts = [seconds(walkMs), seconds(applyMs), seconds(cpuMs), `${loopMaxMs.toFixed(0)} ms`];
      rows.push(['', name, ...times, ...parts, megabytes(rssMb), megabytes(ledgerMb), megabytes(walMb), n]);
    }
  }
  return align(rows);
}

/** How long each takes beside `usage-ledger sync`, as whole processes. */
function renderPeers({ sizes, notMeasured }) {
  const rows = [['whole processes', 'records', ...PEER_SITUATIONS]];
  for (const { records, ms } of sizes) {
    const names = new Set(Object.keys(ms).map((key) => key.split(' ')[0]));
    for (const name of names) {
      const cells = PEER_SITUATIONS.map((situation) => {
        const times = ms[`${name} ${situation}`] / ms[`usage-ledger ${situation}`];
        return `${seconds(ms[`${name} ${situation}`])} (${times.toFixed(2)})`;
      });
      rows.push([name, count(records), ...cells]);
    }
  }
  return [...align(rows), ...notMeasured.map((what) => `not measured: there is no ${what}`)];
}

/** How long each takes beside the script's first run, in time and in processor time. */
function renderStart({ records, medians }) {
  const rows = [[`${count(records)} records, new processes`, 'time', 'x script', 'CPU', 'x script']];
  const { script } = medians;
  for (const [name, { ms, cpuMs }] of Object.entries(medians)) {
    const times = [seconds(ms), (ms / script.ms).toFixed(2), seconds(cpuMs), (cpuMs / script.cpuMs).toFixed(2)];
    rows.push([name, ...times]);
  }
  return align(rows);
}

function renderDaemon(daemon) {
  if (daemon.notMeasured !== undefined) return `idle daemon: not measured, ${daemon.notMeasured}`;
  const { readyMs, cpuPercent, rssMb, librariesMb, idleSeconds } = daemon;
  const idle = `idle ${cpuPercent.toFixed(2)} % CPU over ${idleSeconds} s, ${megabytes(rssMb)} (its libraries alone ${megabytes(librariesMb)})`;
  return `daemon: ready after ${seconds(readyMs)}, ${idle}`;
}

function renderBar({ name, sense, limit, unit, measured, passed }) {
  const verdict = passed === null ? 'not measured' : passed ? 'pass' : 'FAIL';
  const value = measured === null ? '' : `${measured.toFixed(2)} ${unit}`;
  return `  ${name.padEnd(62)} ${value.padStart(11)}  ${sense} ${`${limit} ${unit}`.padEnd(7)}  ${verdict}`;
}

function align(rows) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  return rows.map((row) => row.map((cell, column) => cell.padStart(widths[column])).join('  '));
}

function count(number) {
  return number.toLocaleString('en-US');
}

function seconds(ms) {
  return `${(ms / 1_000).toFixed(2)} s`;
}

function megabytes(value) {
  return `${value.toFixed(0)} MB`;
}
