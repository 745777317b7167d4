import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { commandFile } from './build.mjs';
import { FIRST_MONTH, startService } from './service.mjs';
import { median } from './stats.mjs';

/** `usage-ledger sync` of a small workspace as a new process, beside a Node that does nothing. */
export async function measureStart(bench, say) {
  const { startRecords: records, rounds, root } = bench.options;
  const service = await startService(bench, { records });
  const config = service.configure('start');
  const command = [commandFile(root), 'sync', '--from', FIRST_MONTH, '--config', config];
  const measured = [];
  say(`usage-ledger sync of ${records} records, as a new process`);
  for (let round = 0; round < rounds; round += 1) {
    const nodeMs = await timeOf(bench, ['--eval', '0']);
    const firstMs = await timeOf(bench, command);
    const againMs = await timeOf(bench, command);
    rmSync(join(bench.folder, 'start'), { recursive: true });
    measured.push({ nodeMs, firstMs, againMs });
  }
  await service.stop();
  const middle = (field) => median(measured.map((round) => round[field]));
  const node = middle('nodeMs');
  return {
    records,
    nodeMs: node,
    firstMs: middle('firstMs') - node,
    againMs: middle('againMs') - node,
    rounds: measured,
  };
}

async function timeOf({ children }, args) {
  const startedMs = performance.now();
  await children.run(process.execPath, args);
  return performance.now() - startedMs;
}
