import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createWorld, FIRST, parseJson, row, SECOND, workspaceSettings } from '../world.ts';

it('tries several settings at once and proposes those that lose no alert labelled real and tell the least', async () => {
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
  const grid = ['backtest', '--ratio', '1.5', '--ratio', '2', '--ratio', '4', '--min-credits', '1000'];
  const { out: none } = await world.run('alerts', ...grid);
  expect(none).toMatch(/^today: ratio 1\.5,.* +2 +2 +0 of 0 +0 of 0 +0$/m);
  expect(none).toMatch(/^3: ratio 4,.* +0 +0 +0 of 0 +0 of 0 +0$/m);
  expect(none).toContain('no alert is labelled real, so nothing says which settings lose what matters');

  const alerts = world.query('SELECT alert_id, tenant_id FROM finance_alerts') as Record<string, string>[];
  const idOf = (tenant: string) => alerts.find(({ tenant_id }) => tenant_id === tenant)?.alert_id ?? '';
  await world.run('alerts', 'feedback', idOf('small'), 'real');
  await world.run('alerts', 'feedback', idOf('large'), 'false');
  const answer = parseJson((await world.run('alerts', ...grid, '--json')).out);
  expect(answer.trials).toMatchObject([
    { settings: { ratio: 1.5 }, total: { alerts: 2 }, labelled_real_lost: 0, labelled_false_told: 1 },
    { settings: { ratio: 2 }, total: { alerts: 1 }, labelled_real_lost: 0, labelled_false_told: 0 },
    { settings: { ratio: 4 }, total: { alerts: 0 }, labelled_real_lost: 1, labelled_false_told: 0 },
  ]);
  expect(answer).toMatchObject({ proposal: 1, today: { labelled_real_told: 1, labelled_false_told: 1 } });
  expect(answer.tenants).toMatchObject([{ tenant_id: 'large' }, { tenant_id: 'small' }]);
  const { out } = await world.run('alerts', ...grid);
  expect(out).toContain(
    'proposed: 2, which loses no alert labelled real, tells 0 labelled false instead of 1, and gives 1 notification fewer',
  );
  const worse = await world.run('alerts', 'backtest', '--ratio', '1.5', '--ratio', '4');
  expect(worse.out).toContain("today's settings stay the best");
  const many = Array.from({ length: 13 }, (_, index) => ['--ratio', String(index + 2)]).flat();
  const refused = await world.run('alerts', 'backtest', ...many);
  expect(refused).toMatchObject({ code: 2, err: expect.stringContaining('these are 13 combinations') });
});

it('gives the same on both sides when nothing is proposed, and says so', async () => {
  const world = await createWorld(FIRST);
  await world.run('sync');
  world.sandbox.workspace().set({ tenantId: 'globex', period: '2026-02', credits: 7, requests: 10 });
  await world.run('sync');
  const [{ alert_id }] = world.query("SELECT alert_id FROM alerts WHERE rule = 'regression'") as [{ alert_id: string }];
  for (const said of ['false', 'real']) await world.run('alerts', 'feedback', alert_id, said);
  const { code, out, err } = await world.run('alerts', 'backtest', '--json');
  expect(code).toBe(0);
  expect(err).toContain('nothing is proposed');
  const answer = parseJson(out);
  const side = { told: { real: 1, expected: 0, false: 0 }, precision_percent: 100, recall_percent: 100 };
  const counts = { real: 1, expected: 0, false: 0 };
  expect(answer.labels).toEqual([{ rule: 'regression', labelled: counts, today: side, proposed: side, lost: 0 }]);
  expect((await world.run('alerts', 'backtest')).out).toMatch(
    /^regression told that was real +1 of 1, 100% +1 of 1, 100%$[\s\S]*^the proposed settings lose no alert labelled real$/m,
  );
  expect(answer.rules.map(({ rule }: { rule: string }) => rule)).toEqual(['regression']);
  expect(answer.total.today).toEqual(answer.total.proposed);
  expect([answer.only_today, answer.only_proposed, answer.shifted]).toEqual([[], [], []]);
});

it("takes a rule file for the workspace's own alerts, above `defaults`, and options above both", async () => {
  const world = await createWorld(FIRST);
  world.configure({
    defaults: { alerts: { pace_min_fraction: 0.2, tenants: [{ match: 'trial-*', ratio: 9 }] } },
    workspaces: [
      { ...workspaceSettings(world.sandbox, FIRST), alerts: { per_day: true, tenants: [{ match: 'glo*', ratio: 4 }] } },
    ],
  });
  await world.run('sync');
  const proposed = async (...argv: string[]) =>
    parseJson((await world.run('alerts', 'backtest', '--json', ...argv)).out).settings.proposed;

  const options = await proposed('--ratio', '3', '--min-credits', '7');
  expect(options).toMatchObject({ ratio: 3, min_credits: 7, per_day: true, pace_min_fraction: 0.2 });
  expect(options.tenants).toMatchObject([
    { match: 'glo*', ratio: 4, min_credits: 7 },
    { match: 'trial-*', ratio: 9, min_credits: 7 },
  ]);

  writeFileSync(
    join(world.folder, 'rules.yml'),
    'min_credits: 50\nbaseline: { median_of: 3 }\ntenants:\n  - match: a*\n',
  );
  const file = await proposed('--rule-file', 'rules.yml', '--ratio', '3');
  expect(file).toMatchObject({ ratio: 3, min_credits: 50, per_day: false, baseline: { median_of: 3 } });
  expect(file).toMatchObject({ pace_min_fraction: 0.2, tenants: [{ match: 'a*', ratio: 3 }, { match: 'trial-*' }] });
});

it('shows what a silence has kept quiet: both sides leave it out', async () => {
  const world = await createWorld(FIRST);
  await world.run('sync');
  await world.run('alerts', 'silence', '--until', '2026-03-01', '--reason', 'x');
  world.sandbox.workspace().set({ tenantId: 'acme', period: '2026-02', credits: 90_000, requests: 10 });
  await world.run('sync');
  expect(world.query('SELECT * FROM outbox')).toEqual([]);

  const { total } = parseJson((await world.run('alerts', 'backtest', '--json')).out);
  expect(total.today).toEqual({ alerts: 1, notifications: 1 });
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

it.each([
  ['ratio: 0.5', 'ratio: must be at least 1', 'Give a number of 1 or more'],
  ['rato: 2', 'rato: is not a setting', 'Did you mean ratio?'],
  ['alerts:\n  ratio: 2', 'alerts: is not a setting', 'Write only what stands below it'],
  [
    'tenants:\n  - match: a*\n    min_credits: x',
    'tenants[0].min_credits: must be a number',
    'whole number of credits',
  ],
  ['ratio: 2\nratio: 3', 'rules.yml:2:1: gives a setting a second time', 'Keep one of the two'],
  ['', 'rules.yml: holds no settings', 'Write settings such as `ratio: 2`'],
  [`ratio: $${'{NO_SUCH}'}`, 'ratio: ', 'NO_SUCH'],
])('refuses the rule file %j with its place, the remedy and exit code 2', async (text, fault, remedy) => {
  const world = await createWorld(FIRST);
  writeFileSync(join(world.folder, 'rules.yml'), text);
  const { code, err } = await world.run('alerts', 'backtest', '--rule-file', 'rules.yml');
  expect(code).toBe(2);
  expect(err).toContain(`1 mistake in ${join(world.folder, 'rules.yml')}`);
  expect(err).toContain(fault);
  expect(err).toContain(remedy);
});

it('refuses a rule file that is not there, unknown workspaces and a window that ends before it begins', async () => {
  const world = await createWorld(FIRST);
  const missing = await world.run('alerts', 'backtest', '--rule-file', 'none.yml');
  expect(missing).toMatchObject({ code: 2, err: expect.stringContaining('--rule-file: names a file that does not') });
  const unknown = await world.run('alerts', 'backtest', '--workspace', 'ws-9');
  expect(unknown).toMatchObject({ code: 2, err: expect.stringContaining('"ws-9" is not configured') });
  const window = await world.run('alerts', 'backtest', '--from', '2026-03', '--to', '2026-02');
  expect(window).toMatchObject({ code: 2, err: expect.stringContaining('lies after --to 2026-02') });
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
