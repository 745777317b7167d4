import { afterEach, describe, expect, it } from 'vitest';
import { type Sandbox, startSandbox } from '../../src/sandbox/server.ts';
import { call, type Item, NOON, scenarioWith, sign, signedHeaders, testClock, usagePath } from './client.ts';

let sandbox: Sandbox;
afterEach(() => sandbox.close());

async function start(workspace: Parameters<typeof scenarioWith>[0] = {}): Promise<void> {
  sandbox = await startSandbox({ scenario: scenarioWith(workspace), clock: testClock() });
}

const row = (
  tenant_id: string,
  period: string,
  credits_used: number | bigint = 10,
  request_count: number | bigint = 2,
) => ({
  tenant_id,
  period,
  credits_used,
  request_count,
});

async function walk(perPage: number): Promise<Item[]> {
  const items: Item[] = [];
  for (let page = 1, pages = 1; page <= pages; page += 1) {
    const { body, usage } = await call(sandbox, usagePath(`?page=${page}&per_page=${perPage}`));
    pages = Number(body.data?.total_pages);
    items.push(...usage);
  }
  return items;
}

describe('usage of a workspace', () => {
  it('answers in the envelope with every documented field and no other', async () => {
    await start({ usage: [row('t-1', '2026-02', 7, 3)] });
    const answer = await call(sandbox, usagePath());
    expect(answer.status).toBe(200);
    expect(answer.headers['content-type']).toBe('application/json');
    expect(answer.body).toEqual({
      message: expect.any(String),
      success: true,
      data: {
        workspace_id: 'ws-1',
        usage: [
          {
            tenant_id: 't-1',
            period: '2026-02',
            period_start: '2026-02-01T00:00:00',
            period_end: '2026-02-28T23:59:59',
            credits_used: 7,
            request_count: 3,
          },
        ],
        total_records: 1,
        total_pages: 1,
      },
    });
  });

  it('returns 50 records per page by default', async () => {
    await start({ generate: { tenants: 120, months: 1 } });
    expect((await call(sandbox, usagePath())).usage).toHaveLength(50);
    expect((await call(sandbox, usagePath('?page=3'))).usage).toHaveLength(20);
  });

  it.each([
    'from_period=2026-13',
    'from_period=2026-1',
    'from_period=',
    'to_period=2026-00',
    'to_period=202602',
    'page=0',
    'page=-1',
    'page=1.5',
    'page=x',
    'page=',
    'per_page=0',
    'per_page=101',
    'per_page=1e1',
    'per_page=',
  ])('refuses ?%s with 400', async (query) => {
    await start();
    for (const tenant of [undefined, 't']) {
      const answer = await call(sandbox, usagePath(`?${query}`, tenant));
      expect(answer.status).toBe(400);
      expect(answer.body).toEqual({ success: false, message: expect.any(String), data: null });
    }
  });
});

describe('changing the data', () => {
  it('shows set, replaced and removed records at the next request', async () => {
    await start({ generate: { tenants: 2, months: 2 }, usage: [row('acme-robotics', '2026-01', 5)] });
    const workspace = sandbox.workspace('ws-1');
    workspace.set({ tenantId: 'new', period: '2026-01', credits: 9, requests: 1 });
    expect(workspace.remove('aurora-analytics', '2026-02')).toBe(true);
    expect(workspace.remove('aurora-analytics', '2026-02')).toBe(false);
    const seen = (await call(sandbox, usagePath())).usage.map((item) => `${item.period} ${item.tenant_id}`);
    expect(seen).toEqual(['2026-01 acme-robotics', '2026-01 aurora-analytics', '2026-01 new', '2026-02 acme-robotics']);
    expect(
      workspace.rows().find((item) => item.period === '2026-01' && item.tenantId === 'acme-robotics')?.credits,
    ).toBe(5);
    expect((await call(sandbox, usagePath('', 'aurora-analytics'))).body.data?.total_records).toBe(1);
    workspace.set({ tenantId: 'aurora-analytics', period: '2026-02', credits: 1, requests: 1 });
    expect(workspace.rows()).toHaveLength(5);
    workspace.clear();
    expect((await call(sandbox, usagePath())).body.data).toMatchObject({ usage: [], total_records: 0 });
  });

  it('moves no other record of a shuffled listing when one is added', async () => {
    await start({ order: 'shuffled', generate: { tenants: 30, months: 3 } });
    const workspace = sandbox.workspace();
    const order = () => workspace.rows().map((item) => `${item.period} ${item.tenantId}`);
    const before = order();
    workspace.set({ tenantId: 'new', period: '2026-01', credits: 1, requests: 1 });
    expect(order()).toHaveLength(91);
    expect(order().filter((key) => !key.endsWith(' new'))).toEqual(before);
  });

  it('moves a record of a listing sorted by credits when its value changes, equal ones by key', async () => {
    const usage = [
      row('low', '2026-01', 1),
      row('b', '2026-01', 5),
      row('a', '2026-02', 5),
      row('a', '2026-01', 5),
      row('huge', '2026-02', 2n ** 53n + 1n),
      row('large', '2026-01', 2n ** 53n),
    ];
    await start({ order: 'credits', usage });
    const keys = async () => (await walk(4)).map((item) => `${item.period} ${item.tenant_id}`);
    const ties = ['2026-01 a', '2026-01 b', '2026-02 a'];
    expect(await keys()).toEqual(['2026-02 huge', '2026-01 large', ...ties, '2026-01 low']);
    sandbox.workspace().set({ tenantId: 'low', period: '2026-01', credits: 6, requests: 1 });
    sandbox.workspace().set({ tenantId: 'huge', period: '2026-02', credits: 0, requests: 1 });
    expect(await keys()).toEqual(['2026-01 large', '2026-01 low', ...ties, '2026-02 huge']);
    expect((await call(sandbox, usagePath('', 'a'))).usage.map((item) => item.period)).toEqual(['2026-01', '2026-02']);
  });

  it('refuses a number that is not exact and a month that does not exist', async () => {
    await start();
    const good = { tenantId: 't', period: '2026-01', credits: 1, requests: 1 };
    expect(() => sandbox.workspace().set({ ...good, credits: 2 ** 53 })).toThrow('not an exact integer');
    expect(() => sandbox.workspace().set({ ...good, requests: 1.5 })).toThrow('not an exact integer');
    expect(() => sandbox.workspace().set({ ...good, period: '2026-13' })).toThrow('is not a month');
  });
});

describe('generated usage over time', () => {
  const generate = { tenants: 3, months: 2 };

  it('fills the open month over time and starts the next one', async () => {
    const clock = testClock(Date.UTC(2026, 1, 1));
    sandbox = await startSandbox({ scenario: scenarioWith({ generate }), clock });
    const at = (epochMs: number) => {
      clock.set(epochMs);
      return sandbox.workspace().rows();
    };
    const start = at(Date.UTC(2026, 1, 1));
    const noon = at(NOON);
    const next = at(Date.UTC(2026, 2, 2));
    expect(new Set(start.map((item) => item.period))).toEqual(new Set(['2026-01', '2026-02']));
    expect(start.filter((item) => item.period === '2026-02').map((item) => item.credits)).toEqual([0, 0, 0]);
    const january = (rows: typeof start) => rows.filter((item) => item.period === '2026-01');
    expect(january(noon)).toEqual(january(start));
    expect(new Set(next.map((item) => item.period))).toEqual(new Set(['2026-01', '2026-02', '2026-03']));
    const february = (rows: typeof start) => Number(rows.find((item) => item.period === '2026-02')?.credits);
    expect(february(noon) / february(next)).toBeCloseTo(19.5 / 28, 3);
  });
});

describe('cached answers', () => {
  it('are never stale after changed data, a new month or a clock set back', async () => {
    const start = Date.UTC(2026, 1, 28, 20);
    const clock = testClock(start);
    const scenario = scenarioWith({ generate: { tenants: 2, months: 2 } });
    const validUntil = String(start / 1_000 + 50_000);
    const headers = signedHeaders({ 'X-Valid-Until': validUntil, 'X-Signature': sign(`ws-1${validUntil}`) });
    sandbox = await startSandbox({ scenario, clock });
    const keeping = await startSandbox({ scenario, clock, cacheBytes: 1_000_000 });
    const january = usagePath('?to_period=2026-01');
    const answers: string[] = [];
    const look = async (): Promise<void> => {
      for (const path of [usagePath(), january, usagePath('', 'acme-robotics')]) {
        const { text } = await call(sandbox, path, { headers });
        for (let round = 0; round < 2; round += 1) expect((await call(keeping, path, { headers })).text).toBe(text);
        if (path === january) answers.push(text);
      }
    };
    try {
      for (const epochMs of [start, start + 8_000, start + 1_000, start + 36_000_000]) {
        clock.set(epochMs);
        await look();
      }
      for (const { workspaces } of [sandbox, keeping]) {
        workspaces.get('ws-1')?.set({ tenantId: 'acme-robotics', period: '2026-01', credits: 1, requests: 1 });
      }
      await look();
      for (const { workspaces } of [sandbox, keeping]) workspaces.get('ws-1')?.remove('acme-robotics', '2026-01');
      await look();
      expect(new Set(answers).size).toBe(3);
    } finally {
      await keeping.close();
    }
  });
});
