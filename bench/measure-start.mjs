import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { commandFile } from './build.mjs';
import { FIRST_MONTH, startService } from './service.mjs';
import { medians } from './stats.mjs';

const ENV = { ...process.env, API_KEY_ID: 'ak_bench', SECRET_KEY: 'sk_bench_not_a_secret' };
const PEERS = fileURLToPath(new URL('peers', import.meta.url));

/**
 * `usage-ledger sync` of a small workspace, twice, and `usage-ledger status`, each as a new process, beside a Node that does
 * nothing and the first run of what one would write in an afternoon.
 */
export async function measureStart(bench, say) {
  const { startRecords: records, startRounds, root } = bench.options;
  const service = await startService(bench, { records });
  const config = service.configure('start');
  const command = (...args) => [commandFile(root), ...args, '--config', config];
  const rounds = [];
  say(`usage-ledger sync of ${records} records, and the script for Node, as new processes, ${startRounds} rounds`);
  for (let round = 0; round < startRounds; round += 1) {
    const database = join(bench.folder, `start-${round}.db`);
    const time = (args) => bench.children.time(process.execPath, args, { env: ENV });
    rounds.push({
      node: await time(['--eval', '0']),
      script: await timeScript(bench, service, database),
      first: await time(command('sync', '--from', FIRST_MONTH)),
      next: await time(command('sync', '--from', FIRST_MONTH)),
      status: await time(command('status')),
    });
    rmSync(join(bench.folder, 'start'), { recursive: true });
  }
  await service.stop();
  const names = Object.keys(rounds[0]);
  return {
    records,
    medians: Object.fromEntries(names.map((name) => [name, medians(rounds.map((round) => round[name]))])),
    rounds,
  };
}

/** The first run of the script for Node, into a database that is not there yet. */
export function timeScript({ children }, { url }, database) {
  return children.time(process.execPath, ['script.mjs', url, 'ws-bench', database], { env: ENV, cwd: PEERS });
}
