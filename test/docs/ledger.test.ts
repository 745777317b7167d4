import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { usageAsOf } from '../../src/ledger/journal/runs/as-of.ts';
import type { LedgerDb } from '../../src/ledger/store/ledger-db.ts';
import { buildRichLedger } from '../ledger/audit/verify/tamper/rich-ledger.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const DOCUMENT = join(ROOT, 'docs/ledger.md');
const SCRIPT = join(ROOT, 'deploy/run-digest.sh');
const text = readFileSync(DOCUMENT, 'utf8');

describe('the script that recomputes a digest with sqlite3 and sha256sum', () => {
  test('gives the digest of every run, whatever its entries, names and adjustments are', async () => {
    demandTools('sqlite3', 'sha256sum');
    const { connection, path } = await ledgerFile();
    const runs = publishedRuns(connection);
    expect(runs.length).toBeGreaterThan(10);
    for (const { run_id, digest } of runs) {
      const { stdout, stderr, status } = spawnSync('sh', [SCRIPT, path, run_id], { encoding: 'utf8' });
      expect({ run_id, stdout, stderr, status }).toEqual({ run_id, stdout: `${digest}\n`, stderr: '', status: 0 });
    }
  });

  test('gives another one when an entry was edited', async () => {
    demandTools('sqlite3', 'sha256sum');
    const { connection, path } = await ledgerFile((ledger) =>
      ledger.exec(
        'DROP TRIGGER usage_entries_no_update; UPDATE usage_entries SET credits_after = 1 WHERE entry_id = 1',
      ),
    );
    const [run] = publishedRuns(connection);
    const { stdout } = spawnSync('sh', [SCRIPT, path, run?.run_id ?? ''], { encoding: 'utf8' });
    expect(stdout).toMatch(/^[0-9a-f]{64}\n$/);
    expect(stdout.trim()).not.toBe(run?.digest);
  });

  test('takes nothing but a run id', () => {
    const { stdout, stderr, status } = spawnSync('sh', [SCRIPT, 'none.db', "x' OR 1=1"], { encoding: 'utf8' });
    expect({ stdout, status }).toEqual({ stdout: '', status: 2 });
    expect(stderr).toContain('not a run id');
  });
});

test('the SQL of what the ledger said at a time agrees with `--as-of`', async () => {
  const { connection } = await ledgerFile();
  const sql = block('sql');
  const at = '2026-01-10T15:00:02.000Z';
  const asked = sql
    .replaceAll('2026-03-05T12:00:00.000Z', at)
    .replace('ws-123', 'ws-1')
    .replace("'2026-02'", "'2025-12'");
  const expected = usageAsOf(connection, at).filter((row) => row.workspace_id === 'ws-1' && row.period === '2025-12');
  const rows = connection.prepare(asked).safeIntegers().all() as { tenant_id: string }[];
  expect(expected.length).toBeGreaterThan(3);
  expect(rows.toSorted((a, b) => (a.tenant_id < b.tenant_id ? -1 : 1))).toEqual(
    expected
      .map(({ tenant_id, credits_used }) => ({ tenant_id, credits_used }))
      .toSorted((a, b) => (a.tenant_id < b.tenant_id ? -1 : 1)),
  );
});

test('credits and adjustments summed over all periods are what the service says', async () => {
  const { connection } = await ledgerFile();
  const sums = (sql: string): unknown[] => connection.prepare(sql).safeIntegers().raw().all();
  expect(
    sums(
      'SELECT workspace_id, sum(credits_used) + sum(adjustment_credits), sum(request_count) + sum(adjustment_requests) FROM finance_period_totals GROUP BY 1 ORDER BY 1',
    ),
  ).toEqual(
    sums(
      'SELECT workspace_id, sum(credits_delta), sum(requests_delta) FROM finance_history GROUP BY workspace_id ORDER BY 1',
    ),
  );
});

/** The only fenced block of a language in the document. */
function block(language: string): string {
  const blocks = [...text.matchAll(new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, 'gm'))];
  expect(blocks).toHaveLength(1);
  return blocks[0]?.[1] ?? '';
}

/** A rich ledger as a file, changed first when asked. */
async function ledgerFile(change?: (connection: LedgerDb) => unknown): Promise<{ connection: LedgerDb; path: string }> {
  const connection = await buildRichLedger();
  change?.(connection);
  const path = join(temporaryFolder(), 'ledger.db');
  writeFileSync(path, connection.serialize());
  return { connection, path };
}

function publishedRuns(connection: LedgerDb): { run_id: string; digest: string }[] {
  return connection
    .prepare('SELECT run_id, digest FROM finance_runs WHERE digest IS NOT NULL ORDER BY started_at')
    .all() as { run_id: string; digest: string }[];
}

function demandTools(...tools: string[]): void {
  for (const tool of tools) {
    const { status } = spawnSync('sh', ['-c', `command -v ${tool}`]);
    if (status !== 0) {
      throw new Error(
        `${tool} is needed and is not on PATH: install it (Debian, Ubuntu: sudo apt-get install sqlite3 coreutils)`,
      );
    }
  }
}
