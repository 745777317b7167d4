import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { commandFile } from './build.mjs';
import { versionOf } from './machine.mjs';
import { FIRST_MONTH, startService } from './service.mjs';
import { medians } from './stats.mjs';

const WORKSPACE = 'ws-bench';
const ENV = { ...process.env, API_KEY_ID: 'ak_bench', SECRET_KEY: 'sk_bench_not_a_secret' };
/** What one would use instead, each a file in `peers`, and the programs that it takes. */
const PEERS = {
  node: { takes: ['node'], run: (args) => [process.execPath, 'script.mjs', ...args] },
  python: { takes: ['python3'], run: (args) => ['python3', 'script.py', ...args] },
  pipe: { takes: ['curl', 'jq', 'sqlite-utils'], run: (args) => ['sh', 'pipe.sh', ...args] },
};
export const PEER_SITUATIONS = ['empty', 'unchanged', 'changed'];

/**
 * Whole processes in turn: `usage-ledger sync`, and what one would write or put together instead. Each reads the same pages
 * into an empty database, then the same again, then with 5 % of the records changed. Peers prove nothing, keep no history
 * and raise no alert.
 */
export async function measurePeers(bench, say) {
  const names = Object.keys(PEERS).filter((name) => missing(name).length === 0);
  const sizes = [];
  for (const records of bench.options.peerSizes) {
    const service = await startService(bench, { records });
    const rounds = [];
    for (let round = 0; round < bench.options.peerRounds; round += 1) {
      say(`${records} records by usage-ledger, ${names.join(', ')}, round ${round + 1}`);
      rounds.push(await measureRound(bench, service, { names, round }));
    }
    await service.stop();
    sizes.push({ records, ms: medians(rounds), rounds });
  }
  const notMeasured = Object.keys(PEERS).flatMap((name) => missing(name).map((program) => `${program} for ${name}`));
  return { sizes, notMeasured, versions: Object.fromEntries(toolsOf(names).map((tool) => [tool, versionOf(tool)])) };
}

/** The milliseconds of each process, such as `node unchanged`. */
async function measureRound(bench, service, { names, round }) {
  const config = service.configure('peers');
  const folder = dirname(config);
  const measured = {};
  for (const situation of PEER_SITUATIONS) {
    if (situation === 'changed') await service.change(round);
    for (const name of ['usage-ledger', ...names]) {
      const database = join(folder, `${name}.db`);
      const [program, ...args] =
        name === 'usage-ledger'
          ? [process.execPath, commandFile(bench.options.root), 'sync', '--from', FIRST_MONTH, '--config', config]
          : PEERS[name].run([service.url, WORKSPACE, database]);
      // What one leaves to the kernel must not slow the next.
      await bench.children.run('sync', []);
      const startedMs = performance.now();
      await bench.children.run(program, args, { cwd: fileURLToPath(new URL('peers', import.meta.url)), env: ENV });
      measured[`${name} ${situation}`] = performance.now() - startedMs;
    }
  }
  rmSync(join(folder, 'peers'), { recursive: true });
  for (const name of names)
    for (const suffix of ['', '-wal', '-shm']) rmSync(join(folder, `${name}.db${suffix}`), { force: true });
  return measured;
}

function missing(name) {
  return PEERS[name].takes.filter((program) => program !== 'node' && versionOf(program) === null);
}

function toolsOf(names) {
  return [...new Set(names.flatMap((name) => PEERS[name].takes))].filter((program) => program !== 'node');
}
