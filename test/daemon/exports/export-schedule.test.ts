import { existsSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { prepare } from './export-setup.ts';

describe('an export by cron', () => {
  test('is written once per slot, readable only by its owner, without tenant names in the file name', async () => {
    const { folder, clock, start, files, read, lines } = await prepare({});
    const schedule = start();
    await schedule.run();
    await schedule.run();
    expect(files()).toEqual(['usage-20260320T120000Z.csv']);
    expect(read('usage-20260320T120000Z.csv').trim().split('\r\n')).toHaveLength(7);
    expect(statSync(join(folder, 'usage-20260320T120000Z.csv')).mode & 0o777).toBe(0o600);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(lines).toMatchObject([{ level: 'info', msg: 'export written', export: 'usage', rows: 6 }]);
    clock.set(Date.UTC(2026, 2, 21, 5, 59));
    await schedule.run();
    expect(files()).toHaveLength(1);
    clock.set(Date.UTC(2026, 2, 21, 6));
    await schedule.run();
    expect(files()).toEqual(['usage-20260320T120000Z.csv', 'usage-20260321T060000Z.csv']);
  });

  test('is not written again at the next start, even if the file was removed', async () => {
    const { folder, start, files } = await prepare({});
    const first = start();
    await first.run();
    await first.stop();
    rmSync(join(folder, 'usage-20260320T120000Z.csv'));
    await start().run();
    expect(files()).toEqual([]);
  });

  test('contains a single month if configured, in every format', async () => {
    const { start, files, read } = await prepare(
      { name: 'now', format: 'ndjson', period: 'current', view: 'charges' },
      { name: 'focus', view: 'focus', period: 'previous' },
      ...(['xlsx', 'parquet', 'json'] as const).map((format) => ({ name: format, format })),
    );
    await start().run();
    expect(files()).toHaveLength(5);
    const months = read('now-20260320T120000Z.ndjson')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).period);
    expect(months).toEqual(['2026-03', '2026-03']);
    const [header, ...rows] = read('focus-20260320T120000Z.csv').trim().split('\r\n');
    expect(header).toMatch(/^BilledCost,.*,HostProviderName,/);
    expect(rows).toHaveLength(2);
    for (const row of rows) expect(row).toContain('2026-02-01T00:00:00Z');
  });
});

describe('an export after a close', () => {
  test('is written once for each closed month, and again when the month is closed again', async () => {
    const { start, close, reopen, files, read } = await prepare({ name: 'bill', view: 'charges', cron: null });
    const schedule = start();
    await schedule.run();
    close('2026-01');
    await schedule.run();
    await schedule.run();
    const [first = '', ...others] = files();
    expect(others).toEqual([]);
    expect(first).toMatch(/^bill-2026-01-close-\d{8}\.csv$/);
    expect(read(first)).toMatch(/^ws-1,acme,2026-01,100,100,EUR/m);
    expect(read(first).trim().split('\r\n')).toHaveLength(3);
    close('2026-02');
    reopen('2026-01');
    close('2026-01');
    await start().run();
    expect(files().map((name) => name.slice(0, 18))).toEqual([
      ...['bill-2026-01-close', 'bill-2026-01-close', 'bill-2026-02-close'],
    ]);
    expect(files()).toContain(first);
  });

  test('is not written for another workspace', async () => {
    const { start, close, folder } = await prepare({ cron: null, workspaceId: 'ws-2' });
    close('2026-01');
    await start().run();
    expect(existsSync(folder)).toBe(false);
  });
});

describe('an export that fails', () => {
  test('is logged, does not delay others, is retried after five minutes, and is shown by doctor until it succeeds', async () => {
    const { folder, clock, start, files, lines, findings } = await prepare(
      { name: 'bad', view: 'nothing' as never },
      { name: 'good' },
    );
    expect(findings()).toEqual(['bad warn', 'good warn']);
    const schedule = start();
    await schedule.run();
    await schedule.run();
    expect(files()).toEqual(['good-20260320T120000Z.csv']);
    const told = lines.filter(({ level }) => level === 'error');
    expect(told).toMatchObject([{ export: 'bad', code: 'usage', reason: expect.stringContaining('nothing') }]);
    expect(findings()).toEqual(['bad fail', 'good ok']);
    clock.advance(5 * 60_000);
    await schedule.run();
    expect(lines.filter(({ level }) => level === 'error')).toHaveLength(2);
    expect(readdirSync(folder).filter((name) => name.includes('.part-'))).toEqual([]);
  });

  test('raises one alert at the second failure, ends it on success, and does not raise it again at the next start', async () => {
    const { clock, start, folder, alerts, told, takeAll } = await prepare(
      { name: 'bill' },
      { name: 'good', view: 'charges' },
    );
    writeFileSync(folder, 'no folder');
    const schedule = start();
    await schedule.run();
    expect(alerts()).toEqual([]);
    for (let tries = 0; tries < 3; tries += 1) {
      clock.advance(5 * 60_000);
      await schedule.run();
    }
    expect(alerts()).toEqual(['firing']);
    takeAll();
    expect(told()).toEqual([
      expect.stringMatching(
        /^Exports fail: bill: \S+\/exports is not a folder; good: \S+ is not a folder\. Run `usage-ledger doctor`\.$/,
      ),
    ]);
    await schedule.stop();
    const next = start();
    await next.run();
    expect(alerts()).toEqual(['firing']);
    rmSync(folder);
    clock.advance(5 * 60_000);
    await next.run();
    expect(alerts()).toEqual(['resolved']);
    takeAll();
    expect(told().slice(1)).toEqual(['All exports are written again.']);
    await start().run();
    takeAll();
    expect(told()).toHaveLength(2);
  });

  test('is killed by a stop and leaves no file', async () => {
    const { folder, start } = await prepare({ format: 'parquet' });
    const schedule = start();
    await schedule.stop();
    await schedule.stop();
    const left = existsSync(folder) ? readdirSync(folder) : [];
    expect(left.filter((name) => name.includes('part') || name.endsWith('.parquet'))).toEqual([]);
  });
});
