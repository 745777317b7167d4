import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { verifyLedger } from '../../src/ledger/audit/verify/verify.ts';
import { LEASE_MS } from '../../src/ledger/journal/runs/claim-run.ts';
import { openReader } from '../../src/ledger/store/file/open.ts';
import type { Sandbox } from '../../src/sandbox/server.ts';
import { daemonFolder, startService } from '../support/daemon-folder.ts';
import { eventually } from '../support/eventually.ts';
import { holdAnswer } from '../support/hold-answer.ts';
import { type LedgerView, viewLedger } from '../support/ledger-view.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const SRC = fileURLToPath(new URL('../../src/', import.meta.url));
const RECORDS = 5;

test('a process frozen past its lease applies nothing when it wakes: the one that took over has published', async () => {
  const place = await startPlace();
  const held = place.holdNext({ page: 2 });
  const frozen = place.sync();
  await held.reachedBy(frozen);
  await freeze(frozen.child);

  const winner = await place.sync({ aheadMs: LEASE_MS + 1_000 }).ended;
  const ledger = place.view();
  const before = ledger.dump();
  place.sandbox.workspace().set({ tenantId: 'tenant-1', period: '2026-01', credits: 999, requests: 9 });
  held.release();
  frozen.child.kill('SIGCONT');

  expect(winner).toMatchObject({ code: 0, workspace: { status: 'applied', entries: RECORDS } });
  expect(await frozen.ended).toMatchObject({ code: 1, workspace: { status: 'failed', error: { code: 'fenced' } } });
  expect(ledger.dump()).toBe(before);
  expectPublishedOnce(place, ledger);
});

test('nor when it wakes while the one that took over still walks, and it does not get in that one’s way', async () => {
  const place = await startPlace();
  const first = place.holdNext({ page: 2 });
  const frozen = place.sync();
  await first.reachedBy(frozen);
  await freeze(frozen.child);
  const second = place.holdNext({ page: 3 });
  const taker = place.sync({ aheadMs: LEASE_MS + 1_000 });
  await second.reachedBy(taker);

  first.release();
  frozen.child.kill('SIGCONT');

  expect(await frozen.ended).toMatchObject({ code: 1, workspace: { status: 'failed', error: { code: 'fenced' } } });
  const ledger = place.view();
  expect(ledger.value('SELECT count(*) FROM finance_history')).toBe(0n);
  second.release();
  expect(await taker.ended).toMatchObject({ code: 0, workspace: { status: 'applied', entries: RECORDS } });
  expectPublishedOnce(place, ledger);
});

test('of two processes that sync one workspace at once the second is told to wait, and leaves no run behind', async () => {
  const place = await startPlace();
  const held = place.holdNext({ page: 2 });
  const first = place.sync();
  await held.reachedBy(first);

  const second = await place.sync().ended;
  held.release();

  expect(second).toMatchObject({ code: 1, workspace: { status: 'failed', error: { code: 'lease_held' } } });
  expect(second.err).toContain(`process ${first.child.pid} on `);
  expect(await first.ended).toMatchObject({ code: 0, workspace: { status: 'applied', entries: RECORDS } });
  const ledger = place.view();
  expect(ledger.rows('SELECT status FROM finance_runs')).toEqual([{ status: 'applied' }]);
  expect(verify(place)).toEqual([]);
});

test('a process killed while it walks is taken over at once, without waiting for its lease', async () => {
  const place = await startPlace();
  const held = place.holdNext({ page: 2 });
  const killed = place.sync();
  await held.reachedBy(killed);
  killed.child.kill('SIGKILL');
  expect(await killed.ended).toMatchObject({ code: 'SIGKILL' });
  held.release();

  expect(await place.sync().ended).toMatchObject({ code: 0, workspace: { status: 'applied', entries: RECORDS } });
  expectPublishedOnce(place, place.view());
});

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
async function startPlace(): Promise<Place> {
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

/** Stops a process as a suspended machine does, and waits until it has stopped. */
async function freeze(child: ChildProcess): Promise<void> {
  child.kill('SIGSTOP');
  await eventually(() => {
    const state = execFileSync('ps', ['-o', 'stat=', '-p', String(child.pid)], { encoding: 'utf8' });
    expect(state).toMatch(/^T/);
  });
}

function expectPublishedOnce(place: Place, ledger: LedgerView): void {
  expect(ledger.rows('SELECT status, error_code FROM finance_runs ORDER BY started_at')).toEqual([
    { status: 'superseded', error_code: 'superseded' },
    { status: 'applied', error_code: null },
  ]);
  expect(ledger.value('SELECT count(*) FROM finance_history')).toBe(BigInt(RECORDS));
  expect(ledger.value('SELECT count(DISTINCT tenant_id || period) FROM finance_history')).toBe(BigInt(RECORDS));
  expect(verify(place)).toEqual([]);
}

function verify({ path }: Place): unknown[] {
  const reader = openReader(path);
  try {
    return verifyLedger(reader.connection).faults;
  } finally {
    reader.close();
  }
}
