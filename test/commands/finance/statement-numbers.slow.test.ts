import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { CLI } from '../../support/daemon-process.ts';
import { buildNumbered, close, numbersOf } from './numbered-statements.ts';

/** Kills the process before the n-th time that a statement like `KILL_AT` runs. */
const KILLER = `
const Database = require('node:module').createRequire(process.env.KILL_FROM)('better-sqlite3');
const prepare = Database.prototype.prepare;
let left = Number(process.env.KILL_TIMES);
Database.prototype.prepare = function (sql) {
  const statement = prepare.call(this, sql);
  if (!sql.includes(process.env.KILL_AT)) return statement;
  const run = statement.run;
  statement.run = function (...values) {
    left -= 1;
    if (left === 0) process.kill(process.pid, 'SIGKILL');
    return run.apply(this, values);
  };
  return statement;
};`;

test('whoever kills a close while it gives numbers leaves none given: the next one goes on without a gap', async () => {
  const world = await buildNumbered({ number: 'R-{seq:00}' });
  writeFileSync(join(world.folder, 'killer.cjs'), KILLER);
  const killed = async (period: string, id: string, what: string, times: number): Promise<unknown> => {
    const argv = ['--require', './killer.cjs', CLI, 'close', period, '--workspace', id, '--force', '--note', 'run 12'];
    const env = { PATH: process.env.PATH, KILL_FROM: CLI, KILL_AT: what, KILL_TIMES: String(times) };
    const outcome = await promisify(execFile)(process.execPath, argv, { cwd: world.folder, env }).catch(
      (error) => error,
    );
    return outcome.signal;
  };
  let given = 0;
  for (const [period, id, what, times] of [
    ['2025-12', 'ws-2', 'INTO statement_numbers', 1],
    ['2025-12', 'ws-1', 'INTO statement_numbers', 2],
    ['2026-01', 'ws-1', 'INTO statement_numbers', 3],
    ['2026-01', 'ws-2', 'close_commitments', 1],
  ] as const) {
    expect([what, await killed(period, id, what, times)]).toEqual([what, 'SIGKILL']);
    expect(numbersOf(world)).toHaveLength(given);
    expect((await close(world, period, id)).err).toBe('');
    given += 3;
    expect(numbersOf(world).map(({ line }) => line.slice(-4))).toEqual(
      Array.from({ length: given }, (_, at) => `R-${String(at + 1).padStart(2, '0')}`),
    );
  }
  expect((await world.run('verify')).code).toBe(0);
}, 60_000);
