import { expect, onTestFinished, test } from 'vitest';
import { outletSchema } from '../../src/config/schema/outlets.ts';
import { recordRejections, settleEvents, startOutlet } from '../../src/ledger/journal/outlets/outlet-book.ts';
import { ledgerId } from '../../src/ledger/store/schema/identity.ts';
import { Forwarder } from '../../src/outlets/forwarder.ts';
import { openReceiver } from '../../src/outlets/open-receiver.ts';
import { findRefusedEntries } from '../../src/outlets/read-back.ts';
import { openLedger, publish, usageRecord } from '../support/open-ledger.ts';
import { writerOn } from '../support/run/real-run.ts';
import { testClock } from '../support/time/test-clock.ts';
import { startStripe } from './doubles/stripe-double.ts';
import { ledgerSums, outletRow } from './outlet-world.ts';
import { NEVER } from './receiver-world.ts';

test('events that Stripe refused after accepting them are found until they are sent again', async () => {
  const clock = testClock();
  const meter = { id: 'mtr_1', eventName: 'usage' };
  const double = await startStripe({ now: clock.now, apiKey: 'token-1', meter, customers: ['acme'] });
  const { connection } = openLedger();
  await publish(connection, [usageRecord('acme', 5), usageRecord('globex', 7)]);
  const given = { name: 'billing', type: 'stripe', token: 'token-1', meter: 'mtr_1', url: double.url };
  const outlet = outletSchema.parse({ ...given, allow_private: true });
  const deps = { ledgerId: ledgerId(connection), clock, proxy: null, redact: (text: string) => text };
  const { receiver, close } = openReceiver(outlet, deps);
  onTestFinished(async () => {
    await close();
    await double.close();
  });
  const nowMs = clock.now();
  const begun = {
    name: 'billing',
    receiver: 'stripe credits',
    workspaces: null,
    fromPeriod: '2026-01',
    by: 'Ada',
    nowMs,
  };
  startOutlet(connection, begun);
  const writer = writerOn(connection);
  const asking = { ...deps, outlet, receiver, connection, writer: async () => writer };
  const sweep = new Forwarder(asking);
  await sweep.step(NEVER);
  expect(double.sums()).toEqual({ 'acme 2026-03': '5' });
  // As a daemon does that has just started.
  const look = async () => {
    const { reportsUntil } = outletRow(connection);
    const sinceMs = reportsUntil === null ? 0 : Date.parse(reportsUntil);
    const reports = await receiver.readLateRefusals?.(sinceMs, NEVER);
    const refused = await findRefusedEntries(asking, reports?.refused ?? new Map(), NEVER);
    recordRejections(connection, { name: 'billing', refused, untilMs: reports?.untilMs ?? null, nowMs });
    return refused;
  };

  const found = await look();
  expect(found).toEqual([{ entryId: 2, reason: expect.stringContaining('meter_event_customer_not_found') }]);

  double.customers.add('globex');
  settleEvents(connection, { name: 'billing', entryIds: [2], note: null, by: 'Ada', nowMs });
  await sweep.stepHeld(NEVER);
  expect(double.sums()).toEqual({ 'acme 2026-03': '5', 'globex 2026-03': '7' });
  expect(ledgerSums(connection)).toEqual({ 'acme 2026-03': 5n, 'globex 2026-03': 7n });
  expect(await look()).toEqual([]);
  // Not even when the customer lacks something else by then.
  double.held.splice(0);
  expect(await look()).toEqual([]);
});
