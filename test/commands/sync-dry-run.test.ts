import { existsSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { claimRun } from '../../src/ledger/journal/runs/claim-run.ts';
import { openForWriting } from '../../src/ledger/store/file/open.ts';
import { createThreadedWorld as createWorld, FIRST, parseJson } from './world.ts';

describe('sync --dry-run', () => {
  it('makes no ledger where there is none', async () => {
    const world = await createWorld(FIRST);
    const { code, out } = await world.run('sync', '--dry-run');
    expect(code).toBe(0);
    expect(out).toContain('ws-1: would record 6 entries: 6 opened');
    expect(out).toContain('First sync: would record 1 existing condition without notifying anyone.');
    expect(existsSync(dirname(world.ledgerPath))).toBe(false);
  });

  it('shows the largest changes and the alerts to come, and changes nothing', async () => {
    const world = await createWorld(FIRST);
    await world.run('sync');
    const contents = 'SELECT count(*) AS entries, (SELECT count(*) FROM finance_runs) AS runs FROM finance_history';
    const rowsBefore = world.query(contents);
    const bytesBefore = readFileSync(world.ledgerPath);
    world.sandbox.workspace('ws-1').set({ tenantId: 'globex', period: '2026-01', credits: 7, requests: 10 });

    const { code, out } = await world.run('sync', '--dry-run', '--json');
    expect(code).toBe(0);
    const report = parseJson(out);
    expect(report.dry_run).toBe(true);
    expect(report.workspaces[0].largest_changes).toEqual([
      {
        tenant_id: 'globex',
        period: '2026-01',
        kind: 'decreased',
        credits_delta: -9007199254740986,
        credits_after: 7,
      },
    ]);
    expect(report.workspaces[0].alerts).toMatchObject([
      { rule: 'jump', change: 'fired', tenant_id: 'globex', period: '2026-02', previous_credits: 7, silent: false },
      { rule: 'restatement', change: 'fired', tenant_id: 'globex', period: '2026-01', silent: false },
      // January totals less now, so the increase that the first run found in February is critical.
      { rule: 'jump', change: 'notified', tenant_id: 'acme', period: '2026-02', silent: false },
    ]);
    expect(world.query(contents)).toEqual(rowsBefore);
    expect(readFileSync(world.ledgerPath).equals(bytesBefore)).toBe(true);
  });

  it('works while a run holds the workspace, and leaves that run its lease', async () => {
    const world = await createWorld(FIRST);
    await world.run('sync');
    const connection = openForWriting(world.ledgerPath);
    onTestFinished(() => {
      connection.close();
    });
    const window = { from: null, to: null };
    const claim = { workspaceId: 'ws-1', workspaceName: 'ws-1', slot: null, window, nowMs: world.clock.nowMs };
    claimRun(connection, { ...claim, kind: 'scheduled' });
    const leases = world.query('SELECT * FROM leases');

    const { code, out, err } = await world.run('sync', '--dry-run');

    expect({ code, out, err }).toMatchObject({ code: 0, out: expect.stringContaining('nothing would change') });
    expect(world.query('SELECT * FROM leases')).toEqual(leases);
    expect(world.query("SELECT count(*) AS running FROM runs WHERE status = 'running'")).toEqual([{ running: 1 }]);
  });
});
