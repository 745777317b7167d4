// One whole sync, in a process of its own and as users run it: the program's own wiring, from a configuration file.
import { readFileSync, statSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { loadSource } from './build.mjs';
import { FIRST_MONTH } from './service.mjs';

const RESOLUTION_MS = 5;
const WAL_EVERY_MS = 20;

const { config: file, root } = JSON.parse(process.argv[2]);
const { loadConfig } = await loadSource(root, 'config/load.ts');
const { Context } = await loadSource(root, 'wiring/context.ts');
const config = await loadConfig({ file, env: {}, cwd: '/' });
const ledger = config.ledger.path;

const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
let walBytes = 0;
const watch = setInterval(() => {
  walBytes = Math.max(walBytes, sizeOf(`${ledger}-wal`));
}, WAL_EVERY_MS);
const context = new Context(config);
// As in a daemon, which is up when a job comes; what starting costs is measured with the command.
await context.warm();
delay.enable();
const cpuBefore = process.cpuUsage();
const startedMs = performance.now();
let walkedMs = startedMs;
const outcome = await context.sync({
  workspaceId: config.workspaces[0].id,
  kind: 'manual',
  slot: null,
  from: FIRST_MONTH,
  signal: new AbortController().signal,
  onProgress: ({ pages, totalPages }) => {
    if (pages >= totalPages) walkedMs = performance.now();
  },
});
const ms = performance.now() - startedMs;
const { user, system } = process.cpuUsage(cpuBefore);
// The last interval has not been recorded when the loop was held up until now.
await new Promise((resolve) => setTimeout(resolve, 2 * RESOLUTION_MS));
delay.disable();
clearInterval(watch);
await context.close();
const result = {
  ms,
  walkMs: walkedMs - startedMs,
  applyMs: ms - (walkedMs - startedMs),
  cpuMs: (user + system) / 1_000,
  loopMaxMs: Math.max(0, delay.max / 1e6 - RESOLUTION_MS),
  loopP99Ms: Math.max(0, delay.percentile(99) / 1e6 - RESOLUTION_MS),
  rssMb: peakRssMb(),
  ledgerMb: sizeOf(ledger) / 1e6,
  walMb: walBytes / 1e6,
  records: outcome.records,
  entries: outcome.entries,
  walks: outcome.walks,
  alerts: outcome.alerts.changes.length,
  due: outcome.alerts.due,
};
process.send(result, () => process.disconnect());

/** The kernel's own peak of this program; resourceUsage would count what the parent had when it forked, too. */
function peakRssMb() {
  if (process.platform !== 'linux') return process.resourceUsage().maxRSS / 1e3;
  const [, kilobytes] = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync('/proc/self/status', 'utf8'));
  return (Number(kilobytes) * 1024) / 1e6;
}

function sizeOf(path) {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
