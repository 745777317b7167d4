import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { commandFile } from './build.mjs';
import { NODE_ARGS, stopChild } from './children.mjs';
import { versionOf } from './machine.mjs';
import { timeScript } from './measure-start.mjs';
import { startService } from './service.mjs';
import { medians } from './stats.mjs';

/** A second of the kernel's process times. */
const TICKS_A_SECOND = 100;
/** By then what the first tick started has ended, and the daemon has come to rest: it looks once a minute whether it has. */
const SETTLE_MS = 130_000;
const LIBRARIES_SETTLE_MS = 30_000;
const START_DEADLINE_MS = 30_000;
/** Once a year: nothing is due while we look. */
const SCHEDULE = '    cron: "0 0 1 1 *"\n    reconcile_cron: "0 0 1 1 *"\n';

/**
 * When a daemon is ready, in turn with the script for Node, for a machine that has rested is slower than one at work; and its
 * CPU and memory while it has nothing to do, its pages on and its private Redis beside it: medians of rounds.
 */
export async function measureDaemon(bench, say) {
  const { idleSeconds, startRecords, startRounds, quick } = bench.options;
  if (process.platform !== 'linux') return { notMeasured: 'needs /proc' };
  if (versionOf('redis-server') === null) return { notMeasured: 'redis-server not found on PATH' };
  const service = await startService(bench, { records: startRecords });
  const starts = [];
  say(`a daemon until it is ready, and the script for Node, ${startRounds} rounds`);
  for (let round = 1; round <= startRounds; round += 1) {
    const script = await timeScript(bench, service, join(bench.folder, `script-${round}.db`));
    const config = service.configure(`ready-${round}`, { more: SCHEDULE, httpPort: await freePort() });
    const { readyMs, stop } = await startDaemon(bench, config);
    await stop();
    starts.push({ readyMs, scriptMs: script.ms });
  }
  const rounds = [];
  for (let round = 1; round <= (quick ? 1 : 3); round += 1) {
    const config = service.configure(`daemon-${round}`, { more: SCHEDULE, httpPort: await freePort() });
    say(`an idle daemon, for ${idleSeconds} s, round ${round}`);
    rounds.push(await watchDaemon(bench, config));
  }
  await service.stop();
  say('its libraries alone');
  return {
    idleSeconds,
    ...medians(starts),
    ...medians(rounds),
    librariesMb: await librariesAlone(bench),
    starts,
    rounds,
  };
}

/** The memory of a process that has loaded what the daemon is made of, and does nothing with it. */
async function librariesAlone({ children, folder }) {
  const socket = join(folder, 'libraries.sock');
  const args = ['--port', '0', '--unixsocket', socket, '--dir', folder, '--save', ''];
  const redis = children.spawn('redis-server', args, { stdio: 'ignore' });
  const { rssMb } = await children.ask('libraries-process.mjs', { folder, socket, settleMs: LIBRARIES_SETTLE_MS });
  await stopChild(redis);
  return rssMb;
}

async function startDaemon({ children, options }, config) {
  const command = [...NODE_ARGS, commandFile(options.root), 'daemon', '--config', config];
  const startedMs = performance.now();
  const daemon = children.spawn(process.execPath, command, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const gone = once(daemon, 'exit').then(() => {
    throw new Error('the daemon has ended');
  });
  // It says `ready` to whoever started it with a channel, as pm2 does.
  await Promise.race([once(daemon, 'message', { signal: AbortSignal.timeout(START_DEADLINE_MS) }), gone]);
  gone.catch(() => undefined);
  return { pid: daemon.pid, readyMs: performance.now() - startedMs, stop: () => stopChild(daemon) };
}

async function watchDaemon(bench, config) {
  const { idleSeconds } = bench.options;
  const { pid, stop } = await startDaemon(bench, config);
  await wait(SETTLE_MS);
  const before = cpuSeconds(pid);
  await wait(idleSeconds * 1_000);
  const cpuPercent = ((cpuSeconds(pid) - before) / idleSeconds) * 100;
  const rssMb = residentMb(pid);
  await stop();
  return { cpuPercent, rssMb };
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

function cpuSeconds(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_A_SECOND;
}

function residentMb(pid) {
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return (Number(kilobytes) * 1024) / 1e6;
}
