import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** What a stranger sees first. It waits for the next full minute. */
test('the demo shows what the ledger holds, the bill, the page and the alert, and ends', async () => {
  const folder = temporaryFolder();
  const script = join(import.meta.dirname, '../../scripts/demo.mjs');
  const { stdout } = await promisify(execFile)(process.execPath, [script], { env: { ...process.env, TMPDIR: folder } });
  for (const table of stdout.split('\nsqlite> ').slice(1)) {
    const [sql = '', , rule = '', ...rows] = table.trimEnd().split('\n\n')[0]?.split('\n') ?? [];
    expect(rule, sql).toMatch(/^─+$/);
    expect(rows.length, sql).toBeGreaterThan(0);
    for (const row of rows) expect(row, sql).toMatch(/\w/);
  }
  expect(stdout.match(/^sqlite> /gm)).toHaveLength(5);
  expect(stdout).toMatch(/^blue-harbor {2,}\d{4}-\d\d {2}jump {2}happened/m);
  expect(stdout).toMatch(/^total 486\.90 EUR$/m);
  expect(stdout).toMatch(/ws-demo: blue-harbor used 114,600 credits in \w+; \w+ was 44,690\./);
  expect(stdout).toMatch(/^Done: /m);
  expect(existsSync(join(folder, 'usage-ledger-demo.html'))).toBe(true);
}, 120_000);
