import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { stringify } from 'yaml';
import { createEmailText } from '../../../src/alerts/channels/email-text.ts';
import { readMessage } from '../../../src/alerts/channels/read-message.ts';
import { textWidth } from '../../../src/reports/formats/table.ts';
import { ACTIVE, HOSTILE_NAMES } from '../../alerts/channels/hostile.ts';
import { notifications } from '../../support/messages.ts';
import { payloadFaults } from '../../support/payload-schema.ts';
import { createWorld, FIRST, NOON, parseJson, row, type World } from '../world.ts';

/** Two euros for a thousand credits, for all but those whose ids begin with `free`. */
const CARD = {
  ...{ name: 'list', currency: 'EUR', from_period: '2025-01', price_per_credit: '0.002' },
  tenant: 't-*',
};
const LONG_NAME = `Æøå ${'Gesellschaft '.repeat(24)}`.slice(0, 300);
const NAMES = [
  LONG_NAME,
  '\u{1f980}'.repeat(100),
  'two\nlines',
  ...HOSTILE_NAMES.filter((name) => !/[\0\r]/.test(name)),
];

it('tells the name of a tenant and the money at stake in list, explain, payload and mail', async () => {
  const world = await worldOf({ 't-1': 'Acme GmbH', 'free-1': null });
  const { alerts } = parseJson((await world.run('alerts', '--json')).out);
  const [priced, free] = ['t-1', 'free-1'].map((id) =>
    alerts.find((each: { tenant_id: string }) => each.tenant_id === id),
  );
  expect(priced).toMatchObject({
    ...{ tenant_name: 'Acme GmbH', at_stake_credits: 40_000 },
    at_stake_money: { amount: '80.00', amount_minor: 8_000, currency: 'EUR' },
  });
  expect(free).toMatchObject({ tenant_name: null, at_stake_credits: 40_000, at_stake_money: null });

  const wide = (await world.runOnTerminal(120, 'alerts')).out;
  expect(wide).toMatch(/t-1 \(Acme GmbH\): 50,000 .*\n +alert_\w+ {2}difference: 40,000 credits \(80\.00 EUR\)$/m);
  const explained = (await world.runOnTerminal(80, 'alerts', 'explain', priced.alert_id)).out;
  expect(explained).toContain('t-1 (Acme GmbH, ws-1): 50,000');
  expect(explained).toMatch(/^Cost +80\.00 EUR at the prices of 2026-02$/m);
  const shown = parseJson((await world.run('alerts', 'show', priced.alert_id, '--json')).out);
  expect(shown.alert.tenant_name).toBe('Acme GmbH');

  const payload = payloadOf(world, 't-1');
  expect(payloadFaults(payload)).toEqual([]);
  expect(parseJson(payload)).toMatchObject({
    tenant_name: 'Acme GmbH',
    evidence: { at_stake_money: { amount: '80.00', amount_minor: 8_000, currency: 'EUR' } },
  });
  const view = readMessage(payload);
  if (view === null) throw new Error('the payload has no view');
  const { subject, text, html } = createEmailText(view);
  expect(subject).toContain('(Acme GmbH, ws-1)');
  expect(text).toMatch(/^Costs about 80 EUR more than January\.$|^Costs 80\.00 EUR more than January\.$/m);
  expect(html).toMatch(/<bdi>Costs .*80(\.00)? EUR/);
});

it("says what a workspace's jump costs where a card prices all of its tenants, by its largest tenants", async () => {
  const jumped = Array.from({ length: 12 }, (_, index) => `t-${index}`);
  const moneyOf = async (card: typeof CARD) => {
    const world = await worldOf(Object.fromEntries(jumped.map((id) => [id, null])), card);
    const [{ alert_id }] = parseJson((await world.run('alerts', '--rule', 'workspace_jump', '--json')).out).alerts;
    const explained = (await world.runOnTerminal(300, 'alerts', 'explain', alert_id)).out;
    expect(explained).toMatch(/Largest increases: t-0 \+\d{2,3},\d{3}, t-1 \+\d{2,3},\d{3}, t-10 \+\d{2,3},\d{3}\./);
    expect(explained).toMatch(/^Largest +t-0 50,000 \(2026-01 10,000\), t-1 50,000 \(2026-01 10,000\), t-10 50,000/m);
    return /^Cost +(.*)$/m.exec(explained)?.[1];
  };
  // Twelve use 40,000 more each, and sixty 100 less.
  expect(await moneyOf({ ...CARD, tenant: '*' })).toBe('948.00 EUR at the prices of 2026-02');
  expect(await moneyOf(CARD)).toBeUndefined();
});

it('prices a change of a closed month by the cards of its close', async () => {
  const world = await worldOf({ 't-1': null });
  // A close wants two walks half a day apart.
  world.clock.nowMs = NOON + 13 * 3_600_000;
  await world.run('sync');
  expect((await world.run('close', '2026-01', '--by', 'Ada')).code).toBe(0);
  writeFileSync(join(world.folder, 'rates.yml'), stringify({ rates: [{ ...CARD, price_per_credit: '5' }] }));
  expect((await world.run('rates', 'apply', 'rates.yml', '--yes')).code).toBe(0);
  world.sandbox.workspace('ws-1').set({ tenantId: 't-1', period: '2026-01', credits: 12_000, requests: 10 });
  await world.run('sync');

  const { alerts } = parseJson((await world.run('alerts', '--rule', 'restatement', '--json')).out);
  expect(alerts).toMatchObject([{ at_stake_credits: 2_000, at_stake_money: { amount: '4.00' } }]);
});

it('every screen with names of 300 characters, of several lines and of emoji fits and lets no name act', async () => {
  const world = await worldOf(Object.fromEntries(NAMES.map((name, index) => [`t-${index}`, name])));
  const fits = (screen: string, width: number) => {
    expect(screen.split('\n').filter((line) => textWidth(line) > width)).toEqual([]);
    expect(screen.replaceAll('\n', '')).not.toMatch(ACTIVE);
  };
  for (const width of [80, 120]) {
    const list = (await world.runOnTerminal(width, 'alerts', '--rule', 'jump')).out;
    expect(list.split('\n').filter((line) => /^ +CRIT {2}2026-/.test(line))).toHaveLength(NAMES.length);
    fits(list, width);
  }
  const { alerts } = parseJson((await world.run('alerts', '--json')).out);
  for (const { alert_id, tenant_id } of alerts) {
    for (const screen of ['explain', 'show']) fits((await world.runOnTerminal(80, 'alerts', screen, alert_id)).out, 80);
    const payload = payloadOf(world, tenant_id);
    expect(payloadFaults(payload)).toEqual([]);
    expect(payload).not.toMatch(ACTIVE);
  }
  const long = alerts.find((each: { tenant_name: string }) => each.tenant_name === LONG_NAME);
  const words = (await world.runOnTerminal(80, 'alerts', 'explain', long.alert_id)).out.replaceAll(/\s+/g, ' ');
  expect(words).toContain(LONG_NAME.trim());
});

/** Tenants with their names, all of which jump after the first sync. */
async function worldOf(names: Record<string, string | null>, card = CARD): Promise<World> {
  const ids = Object.keys(names);
  const quiet = Array.from({ length: 60 }, (_, index) => `steady-${index}`);
  const usage = [...ids, ...quiet].flatMap((id) =>
    ['2025-12', '2026-01', '2026-02'].map((period) => row(id, period, period === '2026-02' ? 9_900 : 10_000)),
  );
  const world = await createWorld({ ...FIRST, usage });
  await world.run('sync', '--from', '2025-12');
  const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;
  const lines = Object.entries(names).flatMap(([id, name]) => (name === null ? [] : [`${id},${quoted(name)}`]));
  writeFileSync(join(world.folder, 'names.csv'), ['tenant_id,display_name', ...lines, ''].join('\n'));
  if (lines.length > 0) expect(await world.run('tenants', 'import', 'names.csv')).toMatchObject({ code: 0 });
  writeFileSync(join(world.folder, 'rates.yml'), stringify({ rates: [card] }));
  expect((await world.run('rates', 'apply', 'rates.yml', '--yes')).code).toBe(0);
  for (const tenantId of ids) {
    world.sandbox.workspace('ws-1').set({ tenantId, period: '2026-02', credits: 50_000, requests: 30 });
  }
  await world.run('sync');
  return world;
}

function payloadOf(world: World, tenantId: string): string {
  const own = notifications(world.ledgerPath).find(({ payload }) => payload.tenant_id === tenantId);
  if (own === undefined) throw new Error(`nobody was told of ${tenantId}`);
  return own.text;
}
