import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { configCases, failure, shownInSample } from './config-cases.ts';

const cases = configCases();
const { loadSample } = cases;

test('no backups are made unless they are configured', async () => {
  expect((await loadSample('')).backup).toBeNull();
});

test('backups are made daily, seven are kept, beside the ledger, unless something else is said', async () => {
  expect((await loadSample('backup: {}')).backup).toEqual({
    cron: '0 2 * * *',
    timezone: 'UTC',
    keep: 7,
    folder: join(cases.cwd, 'data', 'backups'),
    to: null,
  });
});

test('the folder of the backups is relative to the configuration', async () => {
  mkdirSync(join(cases.cwd, 'elsewhere'));
  const { backup } = await loadSample('backup: { cron: "30 */6 * * *", keep: 28, folder: ./elsewhere/b }');
  const folder = join(cases.cwd, 'elsewhere', 'b');
  expect(backup).toEqual({ cron: '30 */6 * * *', timezone: 'UTC', keep: 28, folder, to: null });
});

test('what the sample shows of backups is valid', async () => {
  expect((await loadSample(shownInSample('backup'))).backup).toMatchObject({ cron: '0 2 * * *', keep: 7 });
});

test.each([
  ['keep: 0', 'backup.keep', 'must be at least 1'],
  ['keep: 1001', 'backup.keep', 'must be at most 1000'],
  ['cron: daily', 'backup.cron', 'is not a cron expression of five fields'],
  ['folder: ""', 'backup.folder', 'must not be empty'],
  ['days: 3', 'backup.days', 'is not a setting'],
])('backup: { %s } is refused', async (setting, path, message) => {
  const { faults } = await failure(() => loadSample(`backup: { ${setting} }`));
  expect(faults).toEqual([{ path, message, hint: expect.stringMatching(/\S/) }]);
});
