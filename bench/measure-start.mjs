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
    const time = (args, cwd) => bench.children.time(process.execPath, args, { env: ENV, cwd });
    rounds.push({
      node: await time(['--eval', '0']),
      script: await time(['script.mjs', service.url, 'ws-bench', database], PEERS),
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
