import { describe, expect, it } from 'vitest';
import { createWorld, FIRST, parseJson, row, SECOND } from '../world.ts';

/** What a terminal acts upon; line breaks are ours. */
const ACTIVE = /(?!\n)[\p{Cc}\p{Cf}]/u;

describe('usage', () => {
  it('shows a table of what the ledger holds', async () => {
    const world = await createWorld(FIRST);
    await world.run('sync');
    const { code, out, err } = await world.run('usage', '--period', '2026-02');
    expect(code).toBe(0);
    expect(err).toBe('');
    expect(out).toMatch(/^Workspace +Tenant +Period +Credits +Requests +State +Changed\n/);
    expect(out).toMatch(/ws-1 +acme +2026-02 +5,000 +10 /);
    expect(out).toMatch(/ws-1 +globex +2026-02 +9,007,199,254,740,993 +10 /);
    expect(out.trimEnd().split('\n')).toHaveLength(4);
  });

  it('gives one JSON document, the same by --json and by --format json', async () => {
    const world = await createWorld(FIRST, SECOND);
    await world.run('sync');
    const { out } = await world.run('usage', '--tenant', 'globex', '--period', '2026-01', '--json');
    expect(parseJson(out)).toEqual({
      filters: { workspace_id: null, tenant_id: 'globex', period: '2026-01', from: null, to: null },
      rows: [
        {
          workspace_id: 'ws-1',
          tenant_id: 'globex',
          period: '2026-01',
          period_start: '2026-01-01T00:00:00.000Z',
          period_end: '2026-01-31T23:59:59.000Z',
          credits_used: 9007199254740993n,
          request_count: 10,
          state: expect.any(String),
          first_seen_at: '2026-02-20T12:00:00.000Z',
          changed_at: '2026-02-20T12:00:00.000Z',
          withdrawn: false,
          display_name: null,
        },
      ],
    });
    const same = await world.run('usage', '--tenant', 'globex', '--period', '2026-01', '--format', 'json');
    expect(same.out).toBe(out);
  });

  it('writes CSV with every digit, one workspace at a time if asked', async () => {
    const world = await createWorld(FIRST, SECOND);
    await world.run('sync');
    const { out } = await world.run('usage', '--format', 'csv', '--workspace', 'ws-1', '--tenant', 'globex');
    const lines = out.split('\r\n');
    expect(lines[0]).toMatch(/^workspace_id,tenant_id,display_name,period,period_start,period_end,credits_used,/);
    expect(lines[1]).toContain('ws-1,globex,,2025-12,');
    expect(lines[1]).toContain(',9007199254740993,10,');
    expect(lines).toHaveLength(5);
  });

  it('is cut by --limit, and says how much is left', async () => {
    const world = await createWorld(FIRST);
    await world.run('sync');
    const { code, out, err } = await world.run('usage', '--limit', '2', '--format', 'csv');
    expect({ code, err }).toEqual({ code: 0, err: '4 more\n' });
    expect(out.trimEnd().split('\r\n')).toHaveLength(3);
    expect((await world.run('usage', '--limit', '6')).err).toBe('');
  });

  it('says in words that nothing fits, and keeps the form of the answer', async () => {
    const world = await createWorld(FIRST);
    await world.run('sync');
    for (const [format, expected] of [
      ['table', /^$/],
      ['csv', /^workspace_id,[a-z_,]+\r\n$/],
      ['json', /"rows": \[\]/],
    ] as const) {
      const { code, out, err } = await world.run('usage', '--period', '1999-01', '--format', format);
      expect(code).toBe(0);
      expect(out).toMatch(expected);
      expect(err).toBe('no usage matches\n');
    }
  });

  it('does not let a hostile tenant id act on the terminal', async () => {
    const hostile = 'evil\u001b[2J\u202egnp';
    const world = await createWorld({ ...FIRST, usage: [row(hostile, '2026-02', 1)] });
    await world.run('sync');
    const table = await world.run('usage');
    expect(table.out).toContain('evil\\u001b[2J\\u202egnp');
    const detail = await world.run('tenant', hostile);
    expect(detail.out).toContain('evil\\u001b[2J\\u202egnp in ws-1');
    const unknown = await world.run('tenant', `${hostile}?`);
    for (const { out, err } of [table, detail, unknown]) expect(out + err).not.toMatch(ACTIVE);
    const json = await world.run('usage', '--json');
    expect(json.out).not.toMatch(ACTIVE);
    expect(parseJson(json.out).rows[0].tenant_id).toBe(hostile);
  });

  it.each([
    [['--period', '2026-2'], '--period "2026-2" is not a month'],
    [['--workspace', 'ws-9'], 'use one of "ws-1"'],
    [['--format', 'xml'], "argument 'xml' is invalid"],
    [['--json', '--format', 'csv'], '--json conflicts with --format csv'],
  ])('refuses %j with exit code 2', async (argv, message) => {
    const world = await createWorld(FIRST);
    await world.run('migrate');
    const { code, err } = await world.run('usage', ...argv);
    expect(code).toBe(2);
    expect(err).toContain(message);
  });
});
