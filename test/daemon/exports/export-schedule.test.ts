import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
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
});

describe('an export after a close', () => {
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

  test('is killed by a stop and leaves no file', async () => {
    const { folder, start } = await prepare({ format: 'parquet' });
    const schedule = start();
    await schedule.stop();
    await schedule.stop();
    const left = existsSync(folder) ? readdirSync(folder) : [];
    expect(left.filter((name) => name.includes('part') || name.endsWith('.parquet'))).toEqual([]);
  });
});
