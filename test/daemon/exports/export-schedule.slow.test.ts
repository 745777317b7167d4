import { mkdirSync, writeFileSync } from 'node:fs';
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
});
