import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished } from 'vitest';
import { verifyLedger } from '../../src/ledger/audit/verify/verify.ts';
import { openReader } from '../../src/ledger/store/file/open.ts';
import type { Sandbox } from '../../src/sandbox/server.ts';
import { daemonFolder, startService } from '../support/daemon-folder.ts';
import { holdAnswer } from '../support/hold-answer.ts';
import { type LedgerView, viewLedger } from '../support/ledger-view.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const SRC = fileURLToPath(new URL('../../src/', import.meta.url));
export const RECORDS = 5;

interface Ended {
  code: number | string;
  /** What `--json` said of the workspace; null when it said nothing. */
  workspace: unknown;
  err: string;
}

interface SyncProcess {
  child: ChildProcess;
  ended: Promise<Ended>;
}

interface Place {
  path: string;
  sandbox: Sandbox;
  /** `usage-ledger sync --json` as a process of its own, its clock ahead of the real one. */
  sync(options?: { aheadMs?: number }): SyncProcess;
  /** The next request of this page waits for `release` before it is answered. */
  holdNext(when: { page: number }): { reachedBy(process: SyncProcess): Promise<void>; release: () => void };
  view(): LedgerView;
}

/** A service with three pages of one workspace, a configuration that reads it, and no ledger yet. */
export async function startPlace(): Promise<Place> {
  const usage = Array.from({ length: RECORDS }, (_, index) => ({
    tenant_id: `tenant-${index + 1}`,
    period: '2026-01',
    credits_used: 100 + index,
    request_count: 10,
  }));
  const sandbox = await startService({ usage });
  const folder = daemonFolder(sandbox, { defaults: { per_page: 2, concurrency: 1 } });
  const path = join(folder, 'data', 'ledger.db');
  return {
    path,
    sandbox,
    sync: ({ aheadMs = 0 } = {}) => startSync(folder, aheadMs),
    holdNext: (when) => {
      const { reached, release } = holdAnswer(sandbox, when);
      const reachedBy = ({ ended }: SyncProcess): Promise<void> =>
        Promise.race([
          reached,
          ended.then((early) => {
            throw new Error(`it ended before it asked for page ${when.page}: ${JSON.stringify(early)}`);
          }),
        ]);
      return { reachedBy, release };
    },
    view: () => viewLedger(path),
  };
}

function startSync(cwd: string, aheadMs: number): SyncProcess {
  const script = `
    import { main } from ${JSON.stringify(join(SRC, 'commands/main.ts'))};
    import { systemClock } from ${JSON.stringify(join(SRC, 'core/clock.ts'))};
    const clock = { ...systemClock, now: () => Date.now() + ${aheadMs} };
    const { stdout, stderr, env } = process;
    process.exitCode = await main(['sync', '--json'], { stdout, stderr, env, cwd: process.cwd(), overrides: { clock } });`;
  const file = join(temporaryFolder(), 'sync.mjs');
  writeFileSync(file, script);
  const child = spawn(process.execPath, [file], {
    cwd,
    env: { PATH: process.env.PATH },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let out = '';
  let err = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text;
  });
  const ended = once(child, 'close').then(([code, signal]) => {
    const report = out === '' ? null : (JSON.parse(out) as { workspaces: unknown[] });
    return { code: (code ?? signal) as number | string, workspace: report?.workspaces[0] ?? null, err };
  });
  return { child, ended };
}

export function expectPublishedOnce(place: Place, ledger: LedgerView): void {
  expect(ledger.rows('SELECT status, error_code FROM finance_runs ORDER BY started_at')).toEqual([
    { status: 'superseded', error_code: 'superseded' },
    { status: 'applied', error_code: null },
  ]);
  expect(ledger.value('SELECT count(*) FROM finance_history')).toBe(BigInt(RECORDS));
  expect(ledger.value('SELECT count(DISTINCT tenant_id || period) FROM finance_history')).toBe(BigInt(RECORDS));
  expect(verify(place)).toEqual([]);
}

export function verify({ path }: Place): unknown[] {
  const reader = openReader(path);
  try {
    return verifyLedger(reader.connection).faults;
  } finally {
    reader.close();
  }
}
