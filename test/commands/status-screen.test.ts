import { expect, test } from 'vitest';
import { statusLines } from '../../src/commands/status/status.ts';
import type { StatusReport } from '../../src/operations/system/status-report.ts';
import { lineOf } from '../daemon/http/measured.ts';
import { NOON } from '../support/time/test-clock.ts';

const MINUTE_MS = 60_000;

function failing(id: string, inMinutes: number, message = 'HTTP 503: away') {
  const run = { kind: 'scheduled', status: 'failed', error_code: 'server_error', error_message: message };
  const next = new Date(NOON + inMinutes * MINUTE_MS).toISOString();
  const last_run = { ...run, run_id: 'r', from_period: null, to_period: null } as unknown as ReturnType<
    typeof lineOf
  >['last_run'];
  return lineOf({
    workspace_id: id,
    name: id,
    state: 'failed',
    last_status: 'failed',
    last_run,
    next_attempt_at: next,
  });
}

function screen(
  workspaces: StatusReport['workspaces'],
  isRunning = true,
  failing: StatusReport['failing'] = [],
): string[] {
  const counts = { waiting: 0, active: 0, delayed: 0, completed: 0, failed: 0 };
  const report: StatusReport = {
    ...{ workspaces, openAlerts: 0, outbox: { pending: 0, held: 0, dead: 0 }, disabled: [], failing, exports: [] },
    queue: isRunning ? { status: 'running', redis: 'redis', sync: counts } : { status: 'not_running' },
    ledger: { path: 'ledger.db', ledger_id: 'ledger', locked_by: null },
    ...{ configuration: null, ahead: null, skipped: [], short: [], publish: null, outlets: [] },
  };
  return statusLines(report, { nowMs: NOON, limit: 100, width: 120, color: false });
}

test('a reason that stops many workspaces is shown once, with the time of the first next attempt', () => {
  const many = Array.from({ length: 40 }, (_, at) => failing(`ws-${at + 10}`, 4 + at));
  const lines = screen([...many, failing('ws-other', 0, 'HTTP 500: broken')]);
  expect(lines.filter((line) => line.includes('HTTP 503'))).toEqual([
    'ws-10, ws-11, ws-12, ws-13, ws-14 and 35 more: server_error: HTTP 503: away (next attempt in 4 min)',
  ]);
  expect(lines).toContain('ws-other: server_error: HTTP 500: broken (next attempt now)');
});

test('while no daemon runs, no next attempt is shown', () => {
  expect(screen([failing('ws-1', 4)], false)).toContain('ws-1: server_error: HTTP 503: away');
});

test('a channel that fails is named with the reason, the remedy and the next try', () => {
  const reason = 'SMTP 550: the mail server refused the sender a@example.com; correct `from`';
  const mail = { name: 'mail', reason, nextAttemptAt: new Date(NOON + 5 * 60_000).toISOString() };
  expect(screen([], true, [mail]).join(' ').replaceAll(/\s+/g, ' ')).toContain(
    'channel mail fails: SMTP 550: the mail server refused the sender a@example.com; correct `from` (next attempt in 5 min)',
  );
});
