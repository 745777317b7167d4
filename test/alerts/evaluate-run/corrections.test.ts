import { expect, test } from 'vitest';
import { closeMonth } from '../../support/open-ledger.ts';
import { DAY_MS, dayWorld, HOUR_MS } from './day-world.ts';

test('lost credits that return are reported as back after they stayed for a day', async () => {
  const world = dayWorld();
  const at = (hours: number) => Date.UTC(2026, 2, 10) + hours * HOUR_MS;
  const usual = (hours: number) => BigInt(9_000 + hours * 40);
  await world.read(at(-1_000));
  for (let hours = 0; hours <= 96; hours += 8) {
    world.state('acme', '2026-03', usual(hours) - (hours >= 24 && hours < 48 ? 3_000n : 0n));
    await world.read(at(hours));
  }
  expect(world.told()).toEqual(['regression happened firing acme', 'regression happened resolved acme']);
  const ended = world.rows("SELECT at FROM alert_transitions WHERE change = 'resolved'");
  expect(ended).toEqual([new Date(at(56)).toISOString()]);

  // What is back is missing no more.
  expect(world.notifications().map(({ payload }) => payload.credits)).toMatchObject([
    { previous: 9_640, current: 6_960, change: -2_680 },
    { previous: 11_240, current: 11_240, change: 0 },
  ]);
});

test('a closed or settled month that changes back and forth is sent twice, and ends after a week without a change', async () => {
  const world = dayWorld();
  const at = (days: number) => Date.UTC(2026, 2, 4) + days * DAY_MS;
  await world.read(at(-60));
  for (const tenant of ['acme', 'globex']) world.state(tenant, '2026-02', 50_000n);
  await world.read(at(-1));
  await world.read(at(0));
  for (let days = 1; days <= 24; days += 1) {
    world.state('acme', '2026-02', days % 2 === 1 && days < 12 ? 40_000n : 50_000n);
    await world.read(at(days));
  }
  expect(world.told()).toEqual([
    'restatement happened firing acme',
    'restatement happened resolved acme',
    'restatement happened firing acme',
    'restatement happened resolved acme',
  ]);
});

test('a tenant without usage at the close of its month is sent when usage appears', async () => {
  const world = dayWorld();
  const at = (days: number) => Date.UTC(2026, 2, 4) + days * DAY_MS;
  await world.read(at(-60));
  world.state('acme', '2026-02', 50_000n);
  await world.read(at(0));
  closeMonth(world.connection, '2026-02', at(1));
  world.state('late', '2026-02', 5_000n);
  await world.read(at(2));
  expect(world.summaries('restatement')).toEqual([
    expect.stringMatching(
      /^late \(ws-1\): closed February changed by \+5,000 to 5,000 credits\. 0 when it was closed\./,
    ),
  ]);
});

test.each([
  ['when little was used meanwhile', 40n, 3_000n, '5,360'],
  ['when the counter has outgrown the first meanwhile', 300n, 6_000n, '7,200'],
])('a second fall within a day is told a day after the first, %s', async (_when, hourly, fall, lost) => {
  const world = dayWorld();
  const at = (hours: number) => Date.UTC(2026, 2, 10) + hours * HOUR_MS;
  await world.read(at(-1_000));
  for (let hours = 0; hours <= 96; hours += 8) {
    const missing = [24, 40].filter((hour) => hours >= hour).length;
    world.state('acme', '2026-03', BigInt(216 + hours) * hourly - BigInt(missing) * fall);
    await world.read(at(hours));
  }
  expect(world.summaries('regression')).toEqual([
    expect.stringContaining(' lost '),
    expect.stringContaining(`acme (ws-1): lost ${lost} credits of March, `),
  ]);
});
