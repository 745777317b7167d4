import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { prepare } from './export-setup.ts';

describe('an export by cron', () => {
  test('keeps the newest files and all files with other names', async () => {
    const { folder, clock, start, files } = await prepare({ keep: 2 }, { name: 'usage-x', format: 'ndjson' });
    mkdirSync(folder);
    for (const name of ['usage.csv', 'my-usage-20200101T000000Z.csv', 'usage-20200101T000000Z.db']) {
      writeFileSync(join(folder, name), '');
    }
    const schedule = start();
    for (let day = 0; day < 4; day += 1) {
      await schedule.run();
      clock.set(clock.now() + 86_400_000);
    }
    expect(files().sort()).toEqual([
      ...['my-usage-20200101T000000Z.csv', 'usage-20200101T000000Z.db', 'usage-20260322T120000Z.csv'],
      ...['usage-20260323T120000Z.csv', 'usage-x-20260321T120000Z.ndjson', 'usage-x-20260322T120000Z.ndjson'],
      ...['usage-x-20260323T120000Z.ndjson', 'usage.csv'],
    ]);
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
});

describe('an export that fails', () => {
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
        /^Exports fail\. bill: \S+\/exports is not a folder; good: \S+ is not a folder\. Run `usage-ledger doctor`\.$/,
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
});
