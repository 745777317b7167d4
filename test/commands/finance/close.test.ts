import { userInfo } from 'node:os';
import { describe, expect, it } from 'vitest';
import { createWorld, FIRST, NOON, parseJson, row, runInEmptyFolder, SECOND, type World } from '../world.ts';

const HOUR = 3_600_000;
const BY = ['--by', 'Ada Byron', '--note', 'invoice run 12'];
const WHY = ['--by', 'Bo', '--note', 'a credit note was missing'];

describe('close', () => {
  it('says the figures that are frozen and the new head digest', async () => {
    const world = await createProven();
    const { code, out, err } = await world.run('close', '2026-01', ...BY);
    expect(err).toBe('');
    expect(code).toBe(0);
    const lines = out.split('\n');
    expect(lines[0]).toBe('ws-1, 2026-01: closed with 2 tenants, 9,007,199,254,741,993 credits, 20 requests');
    expect((await world.run('verify')).out).toContain(lines[1]);
    expect(lines).toHaveLength(3);
    expect(world.query('SELECT actor, note, forced FROM finance_closes')).toEqual([
      { actor: 'Ada Byron', note: 'invoice run 12', forced: 0 },
    ]);
  });

  it('gives the same as one JSON document, every digit exact', async () => {
    const world = await createProven();
    const { out } = await world.run('close', '2026-01', '--json', ...BY);
    expect(parseJson(out)).toEqual({
      action: 'close',
      workspace_id: 'ws-1',
      period: '2026-01',
      at: '2026-02-21T00:00:00.000Z',
      tenants: 2,
      credits_used: 9007199254741993n,
      request_count: 20,
      overridden: [],
      reversed_adjustments: 0,
      event_seq: 3,
      digest: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  });

  it('is by the system user without --by, and without a note', async () => {
    const world = await createProven();
    await world.run('close', '2026-01');
    expect(world.query('SELECT actor, note FROM finance_closes')).toEqual([
      { actor: `${userInfo().username} (terminal)`, note: '' },
    ]);
  });

  it.each(['Ada (signed in)', 'Ada (API token) ', 'Ada (terminal)'])(
    'refuses --by %j, which looks checked',
    async (by) => {
      const world = await createProven();
      const { code, err } = await world.run('close', '2026-01', '--by', by);
      expect([code, err]).toEqual([
        2,
        expect.stringMatching(
          /^error: --by "Ada .*" ends with "\(.*\)", which only usage-ledger adds\n {2}give the name/,
        ),
      ]);
      expect(world.query('SELECT * FROM finance_closes')).toEqual([]);
    },
  );

  it('refuses with every reason and what helps, and changes nothing', async () => {
    const world = await createWorld(FIRST);
    await world.run('sync');
    const { code, out, err } = await world.run('close', '2026-01', ...BY);
    expect(code).toBe(1);
    expect(out).toBe('');
    expect(err).toMatch(
      /^error: 2026-01 cannot be closed yet:\n {2}- two complete walks 12 h apart must agree: .*\n {2}wait and sync again, or close it with --force, which is recorded\n$/,
    );
    const json = await world.run('close', '2026-02', '--json', ...BY);
    expect(json.code).toBe(1);
    expect(parseJson(json.out).error).toMatchObject({
      code: 'close_refused',
      message: '2026-02 cannot be closed yet:\n  - it is not over: it ends at 2026-03-01 00:00 UTC',
    });
    expect(world.query('SELECT * FROM finance_closes')).toEqual([]);
  });

  it('names months between closes that are not closed, as status and doctor do', async () => {
    const world = await createProven();
    expect((await world.run('close', '2025-12', '--force', ...BY)).err).toBe('');
    const words = '2026-01 of ws-1 is not closed, though a later month is';

    expect((await world.run('close', '2026-02', '--force', ...BY)).err).toBe(`${words}.\n`);

    expect((await world.run('status')).out).toContain(`closes  ${words}`);
    expect(parseJson((await world.run('status', '--json')).out).not_closed).toEqual([
      { workspace_id: 'ws-1', period: '2026-01' },
    ]);
    expect((await world.run('doctor')).out).toContain(words);
    expect((await world.run('close', '2026-01', '--force', ...BY)).err).toBe('');
    expect((await world.run('status')).out).not.toContain('not closed');
  });

  it('closes by force and says what it overrode', async () => {
    const world = await createWorld(FIRST);
    await world.run('sync');
    const { code, out } = await world.run('close', '2026-02', '--force', ...BY);
    expect(code).toBe(0);
    expect(out).toMatch(
      /^ws-1, 2026-02: closed with .*\n {2}despite: it is not over: it ends at 2026-03-01 00:00 UTC\nhead digest /,
    );
    expect((await world.run('usage', '--period', '2026-02')).out).toContain('closed');
    // The same person may not have seen the first answer.
    expect(await world.run('close', '2026-02', '--force', ...BY)).toMatchObject({ code: 0, out });
    const again = await world.run('close', '2026-02', '--force', '--by', 'Bo');
    expect(again.code).toBe(1);
    expect(again.err).toBe('error: 2026-02 is already closed\n  reopen it before closing it again\n');
  });

  it('refuses a wrong command line with exit code 2', async () => {
    const world = await createWorld(FIRST, SECOND);
    await world.run('migrate');
    const first = ['--workspace', 'ws-1'];
    const wrong: [string[], string][] = [
      [['close'], "missing required argument 'period'"],
      [['close', '2026-1', ...first], 'period "2026-1" is not a month'],
      [['close', '2026-13', ...first], 'period "2026-13" is not a month'],
      [['close', '2026-01', '--workspace', 'ws-9'], 'use one of "ws-1", "ws-2"'],
      [['close', '2026-01'], '--workspace is required'],
      [['reopen', '2026-01', ...WHY], '--workspace is required'],
      [['reopen', '2026-1', ...first, ...WHY], 'period "2026-1" is not a month'],
    ];
    for (const [argv, message] of wrong) {
      const { code, out, err } = await world.run(...argv);
      expect(err).toContain(message);
      expect(code).toBe(2);
      expect(out).toBe('');
    }
  });

  it('names the workspace when there are several and leaves the others open', async () => {
    const world = await createWorld(FIRST, SECOND);
    await world.run('sync');
    const { code, out } = await world.run('close', '2026-02', '--workspace', 'ws-2', '--force', ...BY);
    expect(code).toBe(0);
    expect(out).toMatch(/^ws-2, 2026-02: closed with 2 tenants, 150 credits, 20 requests\n/);
    expect(world.query("SELECT workspace_id FROM finance_period_totals WHERE state = 'closed'")).toEqual([
      { workspace_id: 'ws-2' },
    ]);
  });

  it('knows neither a period of which the ledger has nothing nor a ledger that is not there', async () => {
    const world = await createWorld(FIRST);
    const missing = await world.run('close', '2026-01', ...BY);
    expect(missing.code).toBe(1);
    expect(missing.err).toContain('there is no ledger at');
    await world.run('sync');
    const unknown = await world.run('close', '2020-01', '--force', ...BY);
    expect(unknown.code).toBe(1);
    expect(unknown.err).toContain('error: the ledger has no data for 2020-01 in workspace "ws-1"\n');
    expect((await runInEmptyFolder('close', '2026-01')).code).toBe(2);
  });
});

describe('reopen', () => {
  it('is refused with exit code 2 unless it is said who and why', async () => {
    const world = await createClosed();
    const incomplete = [[], ['--by', 'Bo'], ['--by', ' ', '--note', 'why'], ['--by', 'Bo', '--note', '']];
    for (const given of incomplete) {
      const { code, out, err } = await world.run('reopen', '2026-01', ...given);
      expect(code).toBe(2);
      expect(out).toBe('');
      expect(err).toBe('error: reopen needs --note\n  add --note with the reason: auditors will ask\n');
    }
    expect(world.query("SELECT state FROM finance_period_totals WHERE period = '2026-01'")).toEqual([
      { state: 'closed' },
    ]);
  });

  it('prints the figures of the close and the number of reversed adjustments', async () => {
    const world = await createClosed();
    world.sandbox.workspace().set({ tenantId: 'acme', period: '2026-01', credits: 1_200, requests: 10 });
    await world.run('sync');
    expect((await world.run('usage', '--period', '2026-01', '--tenant', 'acme')).out).toMatch(/ 1,000 .*closed/);

    const { code, out } = await world.run('reopen', '2026-01', ...WHY);

    expect(code).toBe(0);
    expect(out.split('\n')).toEqual([
      'ws-1, 2026-01: reopened; it was closed with 2 tenants, 9,007,199,254,741,993 credits, 20 requests',
      '  1 adjustment reversed',
      expect.stringMatching(/^head digest [0-9a-f]{64}$/),
      '',
    ]);
    expect((await world.run('usage', '--period', '2026-01', '--tenant', 'acme')).out).toContain(' 1,200 ');
    expect(world.query('SELECT kind, credits_delta FROM finance_adjustments ORDER BY credits_delta')).toEqual([
      { kind: 'reopen', credits_delta: -200 },
      { kind: 'correction', credits_delta: 200 },
    ]);
    expect((await world.run('verify')).code).toBe(0);
  });

  it('gives one JSON document', async () => {
    const world = await createClosed();
    const { out } = await world.run('reopen', '2026-01', '--json', ...WHY);
    expect(parseJson(out)).toMatchObject({ action: 'reopen', period: '2026-01', tenants: 2, reversed_adjustments: 0 });
  });

  it('of a period that is not closed fails', async () => {
    const world = await createClosed();
    const { code, err } = await world.run('reopen', '2026-02', ...WHY);
    expect(code).toBe(1);
    expect(err).toBe('error: 2026-02 is not closed\n  only a closed period can be reopened\n');
  });
});

describe('usage --as-of', () => {
  it('shows what the ledger said then, as a table, CSV and JSON', async () => {
    const world = await createChanged();
    const then = ['usage', '--tenant', 'acme', '--period', '2026-02', '--as-of', '2026-02-20T12:30:00Z'];
    const table = await world.run(...then);
    expect(table.code).toBe(0);
    expect(table.err).toBe('');
    expect(table.out).toMatch(/ws-1 +acme +2026-02 +5,000 +10 +open +2026-02-20 12:00\n/);
    const csv = (await world.run(...then, '--format', 'csv')).out;
    expect(csv).toContain(',5000,10,open,2026-02-20T12:00:00.000Z,2026-02-20T12:00:00.000Z,false\r\n');
    const json = parseJson((await world.run(...then, '--json')).out);
    expect(json).toMatchObject({
      as_of: '2026-02-20T12:30:00.000Z',
      filters: { workspace_id: null, tenant_id: 'acme', period: '2026-02' },
      rows: [{ workspace_id: 'ws-1', tenant_id: 'acme', period: '2026-02', credits_used: 5000, request_count: 10 }],
    });
    // The same columns in the same places as without a time.
    const today = then.slice(0, -2);
    const [header] = (await world.run(...today)).out.split('\n');
    expect(table.out.split('\n')[0]?.split(/ +/)).toEqual(header?.split(/ +/));
    expect(csv.split('\r\n')[0]).toBe((await world.run(...today, '--format', 'csv')).out.split('\r\n')[0]);
    const [row] = parseJson((await world.run(...today, '--json')).out).rows;
    expect(Object.keys(json.rows[0]).toSorted()).toEqual(Object.keys(row).toSorted());
  });

  it('reads times with any zone, and without one as UTC', async () => {
    const world = await createChanged();
    const credits: Record<string, number> = {
      '2026-02-20T13:00:00Z': 6000,
      '2026-02-20T12:59:59.999Z': 5000,
      '2026-02-20T14:00:00+01:00': 6000,
      '2026-02-20T13:59:00+01:00': 5000,
      '2026-02-20T13:00:00': 6000,
      '2026-02-21': 6000,
    };
    for (const [asOf, expected] of Object.entries(credits)) {
      const { out } = await world.run('usage', '--tenant', 'acme', '--as-of', asOf, '--json');
      expect(parseJson(out).rows, asOf).toMatchObject([{ credits_used: expected }]);
    }
  });

  it('marks the figures of a period that was closed then', async () => {
    const world = await createClosed();
    const { out } = await world.run('usage', '--as-of', '2026-02-21', '--period', '2026-01', '--json');
    expect(parseJson(out).rows).toMatchObject([
      { tenant_id: 'acme', state: 'closed' },
      { tenant_id: 'globex', credits_used: 9007199254740993n, state: 'closed' },
    ]);
  });

  it('says in words that there was nothing then, and keeps the form of the answer', async () => {
    const world = await createChanged();
    const { code, out, err } = await world.run('usage', '--as-of', '2026-02-20', '--json');
    expect(code).toBe(0);
    expect(parseJson(out).rows).toEqual([]);
    expect(err).toBe('no usage matches as of 2026-02-20T00:00:00.000Z\n');
  });

  it('refuses what is no time with exit code 2', async () => {
    const world = await createWorld(FIRST);
    await world.run('migrate');
    for (const asOf of ['yesterday', '2026', '2026-02-20T25:00:00Z', '1771588800', '']) {
      const { code, err } = await world.run('usage', '--as-of', asOf);
      expect(err).toContain(`--as-of ${JSON.stringify(asOf)} is not a time`);
      expect(code).toBe(2);
    }
  });
});

/** January stood still over two runs 12 h apart. */
async function createProven(): Promise<World> {
  const world = await createWorld(FIRST);
  for (const nowMs of [NOON, NOON + 12 * HOUR]) await syncAt(world, nowMs);
  return world;
}

async function createClosed(): Promise<World> {
  const world = await createProven();
  expect((await world.run('close', '2026-01', ...BY)).code).toBe(0);
  return world;
}

/** acme had 5000 credits at noon and has 6000 since one o'clock. */
async function createChanged(): Promise<World> {
  const world = await createWorld({ ...FIRST, usage: [row('acme', '2026-02', 5000)] });
  await syncAt(world, NOON);
  world.sandbox.workspace().set({ tenantId: 'acme', period: '2026-02', credits: 6000, requests: 10 });
  await syncAt(world, NOON + HOUR);
  return world;
}

async function syncAt(world: World, nowMs: number): Promise<void> {
  world.clock.nowMs = nowMs;
  expect(await world.run('sync')).toMatchObject({ code: 0 });
}
