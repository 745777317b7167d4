import { expect, test } from 'vitest';
import { createSlotHistory } from '../../src/freshness/schedules.ts';
import { dueAttempt } from '../../src/queue/slots.ts';
import { type Fixture, manualOrder, startFixture, WORKSPACE } from '../support/sandbox-fixture.ts';

const HOUR_MS = 60 * 60_000;
const RECONCILE = { workspaceId: WORKSPACE, kind: 'reconcile' } as const;
const FILLED = { workspaces: [{ generate: { seed: 3, tenants: 5, months: 4 } }] };

/** The slot of a reconciliation that is due now, when one begins each hour. */
function dueReconciliation(fixture: Fixture): string | null {
  const nowMs = fixture.clock.now();
  const slotMs = Math.floor(nowMs / HOUR_MS) * HOUR_MS;
  const historyOf = createSlotHistory(fixture.context.reader().connection, fixture.clock);
  return dueAttempt({ slotMs, nextMs: slotMs + HOUR_MS }, historyOf(RECONCILE), nowMs)?.slot ?? null;
}

test.each([
  ['', FILLED],
  [' that has nothing yet', {}],
])(
  'the first slot of a workspace%s reads the whole history, so reconciliation is due at the next slot only',
  async (_, world) => {
    const fixture = await startFixture({ thread: true, ...world });
    await fixture.context.warm();
    fixture.clock.advance(5 * 60_000);
    expect(dueReconciliation(fixture)).toBeNull();

    await fixture.sync({ kind: 'scheduled', slot: '2026-03-20T12:00:00.000Z' });

    fixture.clock.advance(60_000);
    expect(dueReconciliation(fixture)).toBeNull();
    fixture.clock.advance(HOUR_MS);
    const slot = dueReconciliation(fixture);
    expect(slot).toBe('2026-03-20T13:00:00.000Z');

    await fixture.context.sync(manualOrder({ kind: 'reconcile', slot: slot as string }));
    expect(dueReconciliation(fixture)).toBeNull();
  },
);

test.each([
  ['the whole history', {}],
  ['what follows a period', { from: '2026-02' }],
  ['what comes before one', { to: '2026-02' }],
])(
  'a first manual run, here of %s, leaves the reconciliation due, because it may have been partial',
  async (_, part) => {
    const fixture = await startFixture({ thread: true, ...FILLED });
    await fixture.sync(part);
    expect(dueReconciliation(fixture)).toBe('2026-03-20T12:00:00.000Z');
  },
);

test('a slot done with a fast clock is due again at its time, as are all slots before it', async () => {
  const fixture = await startFixture({ thread: true, ...FILLED });
  const { clock, context, sync } = fixture;
  await context.warm();
  const entry = { workspaceId: WORKSPACE, kind: 'scheduled' } as const;
  const followed = createSlotHistory(context.reader().connection, clock);
  const due = (history = followed) => {
    const slotMs = Math.floor(clock.now() / HOUR_MS) * HOUR_MS;
    return dueAttempt({ slotMs, nextMs: slotMs + HOUR_MS }, history(entry), clock.now())?.slot ?? null;
  };
  clock.advance(9 * HOUR_MS);
  await sync({ kind: 'scheduled', slot: due() ?? '' });
  expect(due()).toBeNull();

  clock.set(clock.now() - 9 * HOUR_MS);
  const slots: (string | null)[] = [];
  for (let hour = 0; hour < 10; hour += 1) {
    slots.push(due());
    expect(due(createSlotHistory(context.reader().connection, clock))).toBe(slots.at(-1));
    expect(await sync({ kind: 'scheduled', slot: due() ?? '' })).toMatchObject({ status: 'applied' });
    expect(due()).toBeNull();
    clock.advance(HOUR_MS);
  }
  expect([slots[0], slots[9], new Set(slots).size]).toEqual([
    '2026-03-20T12:00:00.000Z',
    '2026-03-20T21:00:00.000Z',
    10,
  ]);
});

test('slots done early by a clock that stayed fast for long are done again at their time', async () => {
  const { clock, sync } = await startFixture({ thread: true, ...FILLED });
  const slotNow = (): string => new Date(Math.floor(clock.now() / HOUR_MS) * HOUR_MS).toISOString();
  clock.advance(2 * HOUR_MS);
  for (let hour = 0; hour < 5; hour += 1) {
    await sync({ kind: 'scheduled', slot: slotNow() });
    clock.advance(HOUR_MS);
  }

  clock.set(clock.now() - 2.5 * HOUR_MS);
  for (let hour = 0; hour < 4; hour += 1) {
    expect(await sync({ kind: 'scheduled', slot: slotNow() })).toMatchObject({ status: 'applied' });
    await expect(sync({ kind: 'scheduled', slot: slotNow() })).rejects.toThrow('already_done');
    clock.advance(HOUR_MS);
  }
});
