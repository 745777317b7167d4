import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { main } from '../../../src/commands/main.ts';
import { addPeriods, periodAt } from '../../../src/core/period.ts';
import { daemonFolder, ONE_TICK, startService } from '../../support/daemon-folder.ts';
import { startDaemonProcess } from '../../support/daemon-process.ts';
import { eventually } from '../../support/eventually.ts';
import { awayFromMonthEnd } from '../../support/time/test-clock.ts';

await awayFromMonthEnd();
const CURRENT = periodAt(Date.now());
const CLOSED = addPeriods(CURRENT, -2);
const OLD = ['20240101T000000Z', '20240102T000000Z', '20240103T000000Z'].map((at) => `usage-daily-${at}.csv`);
/** A sync and a process for each file, on a machine that has other things to do. */
const PATIENCE_MS = 60_000;

test('a daemon writes due exports, removes old ones, exports after a close, and reports the failing one', {
  timeout: 240_000,
}, async () => {
  const usage = [CLOSED, addPeriods(CURRENT, -1), CURRENT].map((period) => ({
    ...{ tenant_id: 'acme', period, credits_used: 500, request_count: 5 },
  }));
  const folder = daemonFolder(await startService({ usage }), {
    ...ONE_TICK,
    exports: [
      { name: 'broken', view: 'usage', cron: '0 0 1 1 *', folder: './no-folder' },
      { name: 'usage-daily', view: 'usage', cron: '0 0 1 1 *', folder: './exports', keep: 2 },
      { name: 'bill', view: 'period_totals', after: 'close', folder: './exports' },
    ],
  });
  const exports = join(folder, 'exports');
  const run = async (...argv: string[]) => {
    let out = '';
    const stdout = { write: (text: string) => (out += text) };
    const code = await main(argv, { stdout, stderr: stdout, env: {}, cwd: folder });
    return { code, out };
  };
  expect((await run('sync')).code).toBe(0);
  writeFileSync(join(folder, 'no-folder'), 'a file');
  expect(existsSync(exports)).toBe(false);
  const files = () => readdirSync(exports).filter((name) => !name.startsWith('.'));

  const daemon = startDaemonProcess(folder);
  await daemon.line('ready', PATIENCE_MS);
  await daemon.line('export written', PATIENCE_MS);
  const [first = ''] = files();
  expect(files()).toEqual([expect.stringMatching(/^usage-daily-\d{8}T\d{6}Z\.csv$/)]);
  expect(readFileSync(join(exports, first), 'utf8').trimEnd().split('\r\n')).toHaveLength(4);
  expect(statSync(join(exports, first)).mode & 0o777).toBe(0o600);
  expect(await daemon.line('export failed, it will be retried', PATIENCE_MS)).toMatchObject({ export: 'broken' });

  const closed = await run('close', CLOSED, '--by', 'Ada', '--force');
  expect(closed.code, closed.out).toBe(0);
  await eventually(() => expect(files()).toHaveLength(2), PATIENCE_MS);
  const bill = files().find((name) => name.startsWith(`bill-${CLOSED}-close-`)) ?? '';
  expect(readFileSync(join(exports, bill), 'utf8')).toMatch(new RegExp(`^ws-1,${CLOSED},1,500,5,closed`, 'm'));

  const status = await run('status');
  expect(status.out).toMatch(/^exports broken failing: \S+no-folder is not a folder$/m);
  expect(status.out).not.toContain('bill');
  const { exports: told } = JSON.parse((await run('status', '--json')).out);
  expect(told).toMatchObject([
    { name: 'broken', last_file_at: null, failing: { reason: expect.stringContaining('no-folder') } },
    { name: 'usage-daily', last_file_at: expect.stringMatching(/Z$/), failing: null },
    { name: 'bill', last_file_at: expect.stringMatching(/Z$/), failing: null },
  ]);
  daemon.child.kill('SIGTERM');
  expect(await daemon.exit()).toBe(0);

  // A year later by what it knows: the next file is due at once, and only the newest two stay.
  for (const name of OLD) writeFileSync(join(exports, name), '');
  rmSync(join(exports, '.usage-daily.export'));
  const next = startDaemonProcess(folder);
  await next.line('old exports removed', PATIENCE_MS);
  const daily = files().filter((name) => name.startsWith('usage-daily-'));
  expect(daily).toHaveLength(2);
  expect(daily).toContain(first);
  expect(files()).toContain(bill);
});
