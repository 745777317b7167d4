import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { CLI } from '../support/daemon-process.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** What a stranger sees first; without redis-server on the PATH, too. */
test.each([
  { with: 'redis-server', path: process.env.PATH, first: '$ usage-ledger daemon' },
  { with: 'Node alone', path: '/nowhere', first: '$ usage-ledger sync' },
])(
  'with $with the demo shows what the ledger holds, the alert, the bill and the page, and ends',
  async ({ path, first }) => {
    const folder = temporaryFolder();
    const startedMs = performance.now();
    const { stdout } = await promisify(execFile)(process.execPath, [CLI, 'demo'], {
      env: { PATH: path, TMPDIR: folder },
    });
    // Seven seconds on a machine with nothing else to do.
    expect(performance.now() - startedMs).toBeLessThan(60_000);
    expect(stdout).toContain(first);
    const tables = stdout.split('\nsqlite> ').slice(1);
    expect(tables).toHaveLength(4);
    for (const table of tables) {
      const [sql = '', , rule = '', ...rows] = table.split('\n\n')[0]?.trimEnd().split('\n') ?? [];
      expect(rule, sql).toMatch(/^─+$/);
      expect(rows.length, sql).toBeGreaterThan(0);
      for (const row of rows) expect(row, sql).toMatch(/\w/);
    }
    expect(stdout).toMatch(/^blue-harbor {2,}jump {2}happened/m);
    expect(stdout).toMatch(/^total 486\.90 EUR$/m);
    expect(stdout).toMatch(/blue-harbor \(ws-demo\): 114,600 credits in \w+, limit [\d,]+\. \w+: 44,690\./);
    expect(stdout).toMatch(/^Done\. The demo has stopped everything that it started\./m);
    expect(readdirSync(folder)).toEqual(['usage-ledger-demo.html']);
  },
);
