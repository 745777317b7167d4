import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { AlertSettings } from '../../src/config/types.ts';
import { DAY_MS, type DayWorld, dayWorld, HOUR_MS } from '../alerts/evaluate-run/day-world.ts';

const DOCUMENT = readFileSync(new URL('../../docs/alert-rules.md', import.meta.url), 'utf8').replaceAll(/\s+/g, ' ');

export const MARGIN_CARDS = {
  cards: [
    {
      ...{ name: 'tiers', from_period: '2026-01', currency: 'EUR' },
      graduated: [{ up_to: 10_000, price_per_credit: '0.01' }, { price_per_credit: '0.002' }],
    },
  ],
  costs: [{ name: 'provider', from_period: '2026-01', currency: 'EUR', price_per_credit: '0.006' }],
};

export interface Example {
  /** What stands in the document. */
  says: string;
  alerts?: Partial<AlertSettings>;
  play: (world: DayWorld) => Promise<void>;
  /** When something was told, and what. */
  told: string[];
}

export const day = (words: string) => Date.parse(`2026-${words}${words.includes('T') ? ':00Z' : 'T12:00Z'}`);

/** Reads every day at noon; what a tenant has used of a month stands from its day on. */
export async function months(
  world: DayWorld,
  until: string,
  figures: Record<string, Record<string, number>>,
): Promise<void> {
  for (let atMs = Date.parse('2026-01-20T12:00Z'); atMs <= day(until); atMs += DAY_MS) {
    for (const [tenant, days] of Object.entries(figures)) {
      for (const [from, credits] of Object.entries(days)) {
        if (atMs >= Date.parse(`${from}T00:00Z`)) world.state(tenant, from.slice(0, 7), BigInt(credits));
      }
    }
    await world.read(atMs);
  }
}

/** Reads twice a day what each tenant uses on a day. */
export async function days(
  world: DayWorld,
  until: string,
  uses: Record<string, (atMs: number) => number>,
  hours = [10, 22],
): Promise<void> {
  for (let dayMs = Date.parse('2026-01-20'); dayMs < day(until); dayMs += DAY_MS) {
    for (const [tenant, of] of Object.entries(uses)) world.post(tenant, dayMs, of(dayMs));
    for (const hour of hours) await world.read(dayMs + hour * HOUR_MS);
  }
}

const told = (world: DayWorld): string[] =>
  world.notifications().map(({ payload: { created_at, rule, level, type, tenant_id, credits, threshold } }) => {
    const what = `${created_at.slice(5, 13)} ${rule} ${level} ${type.slice('alert.'.length)} ${tenant_id ?? '*'}`;
    return `${what} ${credits?.current ?? '-'} of ${threshold ?? '-'}`;
  });

/** Plays each example, which must be in the document word for word. */
export function testExamples(examples: Record<string, Example>): void {
  test.each(Object.entries(examples))(
    'what the document says of %s is so',
    async (_, { says, alerts, play, told: expected }) => {
      const world = dayWorld(alerts);
      await play(world);
      expect(DOCUMENT).toContain(says);
      expect(told(world)).toEqual(expected);
    },
  );
}
