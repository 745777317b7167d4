import { expect, test } from 'vitest';
import type { RateCardText } from '../../src/billing/rates/rate-card-schema.ts';
import { createLogger } from '../../src/core/logger.ts';
import { applyConfiguredRates } from '../../src/daemon/configured-rates.ts';
import { type Fixture, startFixture } from '../support/sandbox-fixture.ts';

const CARD: RateCardText = { name: 'standard', from_period: '2026-01', currency: 'EUR', price_per_credit: '0.05' };

async function createSynced(): Promise<Fixture> {
  const usage = [{ tenant_id: 'acme', period: '2026-03', credits_used: 1000, request_count: 5 }];
  const fixture = await startFixture({ thread: true, workspaces: [{ usage }] });
  await fixture.sync();
  return fixture;
}

/** A daemon's start with these cards in its configuration; gives what it has logged. */
async function startWith(fixture: Fixture, rates: readonly RateCardText[] | null): Promise<Record<string, unknown>[]> {
  const lines: string[] = [];
  const logger = createLogger({ level: 'info', destination: { write: (line: string) => void lines.push(line) } });
  const context = fixture.another((config) => ({ ...config, rates }), { logger });
  await context.writer();
  await applyConfiguredRates(context);
  await context.close();
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

const amounts = ({ view }: Fixture) => view().rows('SELECT amount_minor FROM finance_charges');

test('a daemon activates its configured rate cards once and logs the repriced months', async () => {
  const fixture = await createSynced();
  expect(await startWith(fixture, [CARD])).toEqual([
    expect.objectContaining({ added: ['standard'], retired: [], priced: ['ws-1, 2026-03'] }),
  ]);
  expect(amounts(fixture)).toEqual([{ amount_minor: 5000n }]);
  expect(await startWith(fixture, [CARD])).toEqual([]);
});

test.each([[null], [[]]])('a daemon whose configuration has no cards (%j) retires none', async (rates) => {
  const fixture = await createSynced();
  await startWith(fixture, [CARD]);
  expect(await startWith(fixture, rates)).toEqual([]);
  expect(amounts(fixture)).toEqual([{ amount_minor: 5000n }]);
});

test('ambiguous rate cards are not activated, and the daemon keeps the previous ones', async () => {
  const fixture = await createSynced();
  await startWith(fixture, [CARD]);
  const unclear = [
    { ...CARD, name: 'a', tenant: 'a*' },
    { ...CARD, name: 'e', tenant: '*e' },
  ];
  expect(await startWith(fixture, unclear)).toEqual([
    expect.objectContaining({ level: 'error', reason: expect.stringContaining('card "a" (a*) and card "e" (*e)') }),
  ]);
  expect(amounts(fixture)).toEqual([{ amount_minor: 5000n }]);
});
