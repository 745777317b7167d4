import { expect, it } from 'vitest';
import { messages } from '../../support/messages.ts';
import { createWorld, FIRST, parseJson, row, SECOND, workspaceSettings } from '../world.ts';

it('counts what settings would have told by month and rule, beside what people have said of it', async () => {
  const months = ['2025-12', '2026-01', '2026-02'];
  const usage = ['small', 'large', 'steady'].flatMap((tenant) =>
    months.map((period) => row(tenant, period, tenant === 'small' ? 1_000 : 10_000)),
  );
  const world = await createWorld({ ...FIRST, usage });
  await world.run('sync', '--from', '2025-12');
  for (const [tenantId, credits] of [
    ['small', 2_600],
    ['large', 16_000],
  ] as const) {
    world.sandbox.workspace().set({ tenantId, period: '2026-02', credits, requests: 10 });
  }
  await world.run('sync');
  const alerts = world.query('SELECT alert_id, tenant_id FROM finance_alerts') as Record<string, string>[];
  const idOf = (tenant: string) => alerts.find(({ tenant_id }) => tenant_id === tenant)?.alert_id ?? '';
  await world.run('alerts', 'feedback', idOf('small'), 'false');
  for (const label of ['false', 'real']) await world.run('alerts', 'feedback', idOf('large'), label);

  const today = await world.run('alerts', 'backtest');
  expect(today.code).toBe(0);
  expect(today.out).toMatch(/^2026-02 +jump +2 +2 +1 of 1 +1 of 1$/m);
  expect(today.out).toMatch(/^all +all +2 +2 +1 of 1 +1 of 1$/m);
  const { out } = await world.run('alerts', 'backtest', '--ratio', '2');
  expect(out).toContain('with ratio 2, min_credits 1,000, previous');
  expect(out).toMatch(/^2026-02 +jump +1 +1 +0 of 1 +1 of 1$/m);
  const subject = { period: '2026-02', rule: 'jump' };
  expect(parseJson((await world.run('alerts', 'backtest', '--ratio', '2', '--json')).out).alerts).toEqual([
    {
      ...{ ...subject, tenant_id: 'small', level: 'happened' },
      ...{ first_fired_at: expect.any(String), notifications: 1, label: 'false' },
    },
    { ...subject, tenant_id: 'large', level: null, first_fired_at: null, notifications: 0, label: 'real' },
  ]);
});

it("takes other settings for the workspace's own; tenants keep what they say themselves", async () => {
  const usage = ['acme', 'globex'].flatMap((tenant) =>
    ['2025-12', '2026-01', '2026-02'].map((period) => row(tenant, period, 1_000)),
  );
  const world = await createWorld({ ...FIRST, usage });
  const alerts = {
    min_credits: 7,
    tenants: [
      { match: 'glo*', ratio: 4 },
      { match: 'acme', min_credits: 7 },
    ],
  };
  world.configure({ workspaces: [{ ...workspaceSettings(world.sandbox, FIRST), alerts }] });
  await world.run('sync', '--from', '2025-12');
  for (const tenantId of ['acme', 'globex']) {
    world.sandbox.workspace().set({ tenantId, period: '2026-02', credits: 30_000, requests: 10 });
  }
  await world.run('sync');
  const tenants = async (...argv: string[]) =>
    parseJson((await world.run('alerts', 'backtest', '--json', ...argv)).out).alerts.map(
      ({ tenant_id }: { tenant_id: string }) => tenant_id,
    );
  expect(await tenants()).toEqual(['acme', 'globex']);
  expect(await tenants('--ratio', '1000')).toEqual(['globex']);
  expect(await tenants('--min-credits', '1000000')).toEqual(['acme']);
});

it('says what would have been told without the silence that has muted it', async () => {
  const world = await createWorld(FIRST);
  await world.run('sync');
  await world.run('alerts', 'silence', '--until', '2026-03-01', '--reason', 'x');
  world.sandbox.workspace().set({ tenantId: 'acme', period: '2026-02', credits: 90_000, requests: 10 });
  await world.run('sync');
  expect(messages(world.ledgerPath)).toEqual([]);

  const { alerts } = parseJson((await world.run('alerts', 'backtest', '--json')).out);
  expect(alerts).toMatchObject([{ tenant_id: 'acme', notifications: 1 }]);
});

it.each([
  ['--ratio', '0.5', 'Give a number of 1 or more'],
  ['--ratio', 'two', 'Give a number of 1 or more'],
  ['--min-credits', '1.5', 'Give a whole number of credits, 0 or more'],
  ['--min-credits', '-1', 'Give a whole number of credits, 0 or more'],
])('refuses %s %s with a remedy and exit code 2', async (option, value, remedy) => {
  const world = await createWorld(FIRST);
  const { code, err } = await world.run('alerts', 'backtest', option, value);
  expect(code).toBe(2);
  expect(err).toContain(`${option} "${value}" is out of range`);
  expect(err).toContain(`${option}: ${remedy}`);
});

it('refuses unknown workspaces and a window that ends before it begins', async () => {
  const world = await createWorld(FIRST);
  const unknown = await world.run('alerts', 'backtest', '--workspace', 'ws-9');
  expect(unknown).toMatchObject({ code: 2, err: expect.stringContaining('"ws-9" is not configured') });
  const window = await world.run('alerts', 'backtest', '--from', '2026-03', '--to', '2026-02');
  expect(window).toMatchObject({ code: 2, err: expect.stringContaining('is after --to 2026-02') });
});

it('says so when there is nothing to replay', async () => {
  const world = await createWorld(FIRST, SECOND);
  const none = await world.run('alerts', 'backtest', '--workspace', 'ws-1', '--ratio', '2');
  expect(none).toMatchObject({ code: 1, err: expect.stringContaining('there is no ledger at') });
  await world.run('sync', '--workspace', 'ws-2');
  const empty = await world.run('alerts', 'backtest', '--workspace', 'ws-1', '--ratio', '2');
  expect(empty).toMatchObject({ code: 1, err: expect.stringContaining('no complete run of "ws-1" to replay') });
  expect(empty.err).toContain('usage-ledger sync');
});
