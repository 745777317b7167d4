import { fork } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { openForWriting } from '../../../../src/ledger/store/file/open.ts';
import { openLedger, publish, usageRecord } from '../../../support/open-ledger.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';
import { NOON } from '../../../support/time/test-clock.ts';
import { faultsOf, viewsOf } from './moving-world.ts';

const MOVER = fileURLToPath(new URL('moving-process.mjs', import.meta.url));
/** Places to kill at, spread over all steps. */
const KILLS = Number(process.env.MOVE_KILLS ?? 3);
const HOUR_MS = 3_600_000;

/** Runs the mover; resolves with its steps, or null when it has killed itself. */
async function move(what: 'export' | 'import', from: string, to: string, killAt = 0): Promise<number | null> {
  const child = fork(MOVER, [what, from, to, String(killAt)], {
    execArgv: [],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let said: { steps: number } | null = null;
  let words = '';
  child.on('message', (message: { steps: number }) => {
    said = message;
  });
  child.stderr?.on('data', (chunk: Buffer) => (words += chunk.toString()));
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
  if (killAt === 0) expect(code, words).toBe(0);
  else expect(signal, words).toBe('SIGKILL');
  return (said as { steps: number } | null)?.steps ?? null;
}

/** A ledger with a history of ws-1 and one of ws-2. */
async function historyAt(path: string): Promise<string> {
  const { connection } = openLedger(path);
  const records = Array.from({ length: 200 }, (_, index) => usageRecord(`tenant-${index}`, 100 + index));
  await publish(connection, records, { workspaceId: 'ws-1' });
  await publish(connection, [usageRecord('acme', 5)], { workspaceId: 'ws-2', nowMs: NOON + HOUR_MS });
  await publish(connection, records.slice(7), { workspaceId: 'ws-1', nowMs: NOON + 2 * HOUR_MS });
  connection.close();
  return path;
}

function look<T>(path: string, read: (connection: ReturnType<typeof openForWriting>) => T): T {
  const connection = openForWriting(path);
  try {
    return read(connection);
  } finally {
    connection.close();
  }
}

function spread(steps: number): number[] {
  return Array.from({ length: KILLS }, (_, index) => 1 + Math.floor(((index + 0.5) * steps) / KILLS));
}

test('an import that is killed anywhere leaves the workspace with all its history or without any, and can be repeated', {
  timeout: 60_000 + KILLS * 30_000,
}, async () => {
  const folder = temporaryFolder();
  const file = join(folder, 'moved.db');
  const origin = await historyAt(join(folder, 'origin', 'ledger.db'));
  await move('export', origin, file);
  const whole = look(origin, (connection) => viewsOf(connection, 'ws-1'));
  const target = join(folder, 'target.db');
  const { connection } = openLedger(target);
  await publish(connection, [usageRecord('acme', 7)], { workspaceId: 'ws-9' });
  connection.pragma('wal_checkpoint(TRUNCATE)');
  connection.close();
  const trial = join(folder, 'trial', 'ledger.db');
  openLedger(trial).connection.close();
  copyFileSync(target, trial);
  const steps = (await move('import', file, trial)) ?? 0;
  expect(look(trial, (connection) => viewsOf(connection, 'ws-1'))).toEqual(whole);

  for (const killAt of spread(steps)) {
    const ledger = join(folder, `killed-at-${killAt}`, 'ledger.db');
    openLedger(ledger).connection.close();
    copyFileSync(target, ledger);
    await move('import', file, ledger, killAt);
    const left = look(ledger, (connection) => {
      expect(faultsOf(connection), `killed at ${killAt} of ${steps}`).toEqual([]);
      return viewsOf(connection, 'ws-1');
    });
    const isThere = left.finance_history?.length !== 0;
    if (isThere) {
      expect(left, `killed at ${killAt} of ${steps}`).toEqual(whole);
      continue;
    }
    expect(Object.values(left).flat(), `killed at ${killAt} of ${steps}`).toEqual([]);
    await move('import', file, ledger);
    expect(look(ledger, (connection) => viewsOf(connection, 'ws-1'))).toEqual(whole);
    expect(readdirSync(dirname(ledger)).filter((name) => name.includes('importing'))).toEqual([]);
  }
});

test('an export that is killed anywhere leaves no half file, and the next one writes the whole', {
  timeout: 60_000 + KILLS * 30_000,
}, async () => {
  const folder = temporaryFolder();
  const first = await historyAt(join(folder, 'first', 'ledger.db'));
  const steps = (await move('export', first, join(folder, 'first.db'))) ?? 0;
  for (const killAt of spread(steps)) {
    const ledger = await historyAt(join(folder, `killed-at-${killAt}`, 'ledger.db'));
    const file = `${dirname(ledger)}.db`;
    await move('export', ledger, file, killAt);
    look(ledger, (connection) => expect(faultsOf(connection), `killed at ${killAt} of ${steps}`).toEqual([]));
    if (!existsSync(file)) await move('export', ledger, file);
    const target = join(folder, `into-${basename(file)}`, 'ledger.db');
    openLedger(target).connection.close();
    await move('import', file, target);
    expect(look(target, (connection) => viewsOf(connection, 'ws-1'))).toEqual(
      look(ledger, (connection) => viewsOf(connection, 'ws-1')),
    );
  }
});
