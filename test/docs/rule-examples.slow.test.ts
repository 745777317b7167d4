import { setCards } from '../../src/ledger/journal/charges/charge-run.ts';
import { day, days, type Example, MARGIN_CARDS, testExamples } from './rule-examples.ts';

const EXAMPLES: Record<string, Example> = {
  'drop, likely': {
    says: 'initech used something every day until 11 March: notified on the 14th, within six hours.',
    play: (world) =>
      days(world, '03-20', { initech: (atMs) => (atMs <= Date.parse('2026-03-11') ? 300 : 0) }, [2, 8, 14, 20]),
    told: ['03-14T02 drop likely firing initech 3300 of -'],
  },
  'drop of who pauses': {
    says: 'One day: four days. Two days, as for a tenant that works on weekdays: five and a half. Three days: seven.',
    play: (world) => {
      const until = (uses: (weekday: number) => boolean) => (atMs: number) =>
        atMs <= Date.parse('2026-03-11') && uses(new Date(atMs).getUTCDay()) ? 300 : 0;
      const tenants = {
        'pauses for 1': until((weekday) => weekday !== 0),
        'pauses for 2': until((weekday) => weekday !== 0 && weekday !== 6),
        'pauses for 3': until((weekday) => weekday > 0 && weekday < 5),
      };
      return days(world, '03-25', tenants, [2, 8, 14, 20]);
    },
    told: [
      '03-15T02 drop likely firing pauses for 1 2700 of -',
      '03-16T14 drop likely firing pauses for 2 2400 of -',
      '03-18T02 drop likely firing pauses for 3 2100 of -',
    ],
  },
  margin: {
    says: 'acme pays 0.01 EUR a credit up to 10,000 credits and 0.002 beyond, and costs 0.006. At 1,000 credits a day March totals 31,000: it pays 142.00 and costs 186.00 EUR. Its usage rose on 1 March: the alert is sent on 12 March as likely, and at 21,000 credits as happened.',
    alerts: { ratio: 100 },
    play: (world) => {
      setCards(world.connection, { ...MARGIN_CARDS, source: 'import', nowMs: day('01-10') });
      return days(world, '03-28', { acme: (atMs) => (atMs < day('03-01T00:00') ? 300 : 1_000) });
    },
    told: ['03-12T10 margin likely firing acme 12000 of -', '03-21T10 margin happened escalated acme 21000 of -'],
  },
};

testExamples(EXAMPLES);
