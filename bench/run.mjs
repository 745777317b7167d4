// The bench: see --help, and docs/performance.md for how to read what it prints.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { holdAgainstBars } from './bars.mjs';
import { Children } from './children.mjs';
import { describeMachine } from './machine.mjs';
import { measureCard } from './measure-card.mjs';
import { measureDaemon } from './measure-daemon.mjs';
import { measureLatency } from './measure-latency.mjs';
import { measurePeers } from './measure-peers.mjs';
import { measureSizes } from './measure-sizes.mjs';
import { measureStart } from './measure-start.mjs';
import { HELP, parseOptions } from './options.mjs';
import { renderReport } from './report.mjs';

const EXIT = { failed: 1, usage: 2, barFailed: 4, interrupted: 130 };
const PARTS = {
  // First: what large ledgers leave to be written back holds up whoever waits for the disk.
  start: measureStart,
  sizes: measureSizes,
  card: measureCard,
  latency: measureLatency,
  peers: measurePeers,
  daemon: measureDaemon,
};

const options = readOptions();
if (options?.help) process.stdout.write(HELP);
else if (options !== null) await runBench(options);

function readOptions() {
  try {
    return parseOptions(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`${error.message}\n(add --help for the options)\n`);
    process.exitCode = EXIT.usage;
    return null;
  }
}

async function runBench(options) {
  const children = new Children();
  const folder = mkdtempSync(join(tmpdir(), 'usage-ledger-bench-'));
  let interrupted = false;
  for (const signal of ['SIGINT', 'SIGTERM']) {
    process.on(signal, () => {
      interrupted = true;
      void children.stopAll();
    });
  }
  try {
    const report = await measure({ options, children, folder }, () => interrupted);
    process.stdout.write(`${renderReport(report)}\n`);
    if (options.out !== null) writeFileSync(options.out, `${JSON.stringify(report, null, 2)}\n`);
    if (!options.quick && report.bars.some((bar) => bar.passed === false)) process.exitCode = EXIT.barFailed;
  } catch (error) {
    process.exitCode = interrupted ? EXIT.interrupted : EXIT.failed;
    process.stderr.write(interrupted ? 'interrupted\n' : `the bench failed: ${error.stack}\n`);
  } finally {
    await children.stopAll();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measure(bench, isInterrupted) {
  const { options } = bench;
  const report = { startedAt: new Date().toISOString(), machine: describeMachine(), options };
  for (const [part, measurePart] of Object.entries(PARTS)) {
    if (isInterrupted()) throw new Error('interrupted');
    const say = (text) => process.stderr.write(`${part}: ${text}\n`);
    report[part] = options.parts.includes(part) ? await measurePart(bench, say) : null;
  }
  report.bars = holdAgainstBars(report);
  report.finishedAt = new Date().toISOString();
  return report;
}
