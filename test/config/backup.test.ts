import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { sampleConfig } from '../../src/config/samples/sample-config.ts';
import type { Config } from '../../src/config/types.ts';
import type { ConfigError } from '../../src/core/errors.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const ENV = { USAGE_API_WORKSPACE_ID: 'ws', USAGE_API_KEY_ID: 'ak', USAGE_API_SECRET_KEY: 'sk_of_this_test' };

/** The sample with `backup` written like this, loaded from a folder of its own. */
function load(backup: string): { folder: string; config: Config } {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'elsewhere'));
  writeFileSync(join(folder, 'usage-ledger.yml'), `${sampleConfig()}\n${backup}\n`);
  return { folder, config: loadConfig({ file: 'usage-ledger.yml', env: ENV, cwd: folder }) };
}

test('no backups are made unless they are configured', () => {
  expect(load('').config.backup).toBeNull();
});

test('backups are made daily, seven are kept, beside the ledger, unless something else is said', () => {
  const { folder, config } = load('backup: {}');
  expect(config.backup).toEqual({ cron: '0 2 * * *', keep: 7, folder: join(folder, 'data', 'backups'), to: null });
});

test('the folder of the backups is relative to the configuration', () => {
  const { folder, config } = load('backup: { cron: "30 */6 * * *", keep: 28, folder: ./elsewhere/b }');
  expect(config.backup).toEqual({ cron: '30 */6 * * *', keep: 28, folder: join(folder, 'elsewhere', 'b'), to: null });
});

test('what the sample shows of backups is valid', () => {
  const shown = sampleConfig().match(/^# backup:.*\n(# {3}.*\n)+/m)?.[0] ?? '';
  expect(load(shown.replace(/^# ?/gm, '')).config.backup).toMatchObject({ cron: '0 2 * * *', keep: 7 });
});

test.each([
  ['keep: 0', 'backup.keep', 'must be at least 1'],
  ['keep: 1001', 'backup.keep', 'must be at most 1000'],
  ['cron: daily', 'backup.cron', 'is not a cron expression of five fields'],
  ['folder: ""', 'backup.folder', 'must not be empty'],
  ['days: 3', 'backup.days', 'is not a setting'],
])('backup: { %s } is refused', (setting, path, message) => {
  let error: ConfigError | undefined;
  try {
    load(`backup: { ${setting} }`);
  } catch (caught) {
    error = caught as ConfigError;
  }
  expect(error?.faults).toEqual([{ path, message, hint: expect.stringMatching(/\S/) }]);
});
