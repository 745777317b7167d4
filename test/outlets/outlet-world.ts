import { secretsOf } from '../../src/config/reading/secrets.ts';
import { outletSchema } from '../../src/config/schema/outlets.ts';
import type { OutletConfig } from '../../src/config/types.ts';
import { createRedactor } from '../../src/core/text/redact.ts';
import { readOutlet, startOutlet } from '../../src/ledger/journal/outlets/outlet-book.ts';
import type { LedgerDb } from '../../src/ledger/store/ledger-db.ts';
import { ledgerId } from '../../src/ledger/store/schema/identity.ts';
import { Forwarder, receiverKind, type StepReport } from '../../src/outlets/forwarder.ts';
import { openReceiver } from '../../src/outlets/open-receiver.ts';
import type { Receiver, ReceiverLimits } from '../../src/outlets/receiver.ts';
import type { Writer } from '../../src/writer/writer.ts';
import { openLedger } from '../support/open-ledger.ts';
import { writerOn } from '../support/run/real-run.ts';
import { plainConfig } from '../support/run/workspace-config.ts';
import { NOON, type TestClock, testClock } from '../support/time/test-clock.ts';
import { SECRET, WebhookReceiver } from './webhook-receiver.ts';

export interface OutletWorld {
  connection: LedgerDb;
  path: string;
  writer: Writer;
  clock: TestClock;
  double: WebhookReceiver;
  outlet: OutletConfig;
  receiver: Receiver;
  /** A process that sends; each call is another one. */
  sweep(): Forwarder;
  begin(fromPeriod?: string): void;
  /** Steps of one process until nothing waits that could go now, or something is in the way. */
  run(): Promise<StepReport>;
}

interface WorldOptions {
  settings?: object;
  /** What the receiver's documentation says otherwise, and whether it can be asked. */
  limits?: Partial<ReceiverLimits>;
  asked?: (period: string) => ReadonlyMap<string, string>;
  path?: string;
  double?: WebhookReceiver;
}

/** A ledger, an outlet of it and its receiver, at noon on 20 March 2026. */
export async function outletWorld(options: WorldOptions = {}): Promise<OutletWorld> {
  const double = options.double ?? (await new WebhookReceiver().start());
  double.nowMs = NOON;
  const { connection, path } = openLedger(options.path);
  const given = { name: 'billing', type: 'webhook', url: double.url, allow_private: true, secret: SECRET };
  const outlet = outletSchema.parse({ ...given, requests_per_second: 1000, timeout_seconds: 1, ...options.settings });
  const secrets = secretsOf({ ...plainConfig(path), outlets: [outlet] });
  const clock = testClock(NOON);
  const deps = { ledgerId: ledgerId(connection), clock, proxy: null, redact: createRedactor(secrets) };
  const opened = openReceiver(outlet, deps);
  const { asked } = options;
  const receiver: Receiver = {
    ...opened.receiver,
    limits: { ...opened.receiver.limits, ...options.limits },
    usage: async (period) => (asked === undefined ? null : asked(period)),
  };
  const writer = writerOn(connection);
  const sweep = () => new Forwarder({ ...deps, outlet, receiver, connection, writer: async () => writer });
  return {
    connection,
    path,
    writer,
    clock,
    double,
    outlet,
    receiver,
    sweep,
    begin: (fromPeriod = '2026-01') =>
      startOutlet(connection, {
        name: outlet.name,
        receiver: receiverKind(outlet),
        workspaces: outlet.workspaces,
        fromPeriod,
        by: 'Ada',
        nowMs: clock.now(),
      }),
    async run() {
      const own = sweep();
      const { signal } = new AbortController();
      let report = await own.step(signal);
      while (report.more) report = await own.step(signal);
      if (report.fault !== null || report.paused !== null) return report;
      let held = await own.stepHeld(signal);
      while (held.more) held = await own.stepHeld(signal);
      return held;
    },
  };
}

/** What the ledger says that its tenants used, in SQL of its own, by `tenant month`; nothing that is 0. */
export function ledgerSums(connection: LedgerDb, fromPeriod = '2026-01'): Record<string, bigint> {
  const rows = connection
    .prepare(
      `SELECT tenant_id || ' ' || period AS key, sum(credits_delta) AS credits FROM finance_history
       WHERE period >= ? GROUP BY tenant_id, period`,
    )
    .safeIntegers()
    .all(fromPeriod) as { key: string; credits: bigint }[];
  return Object.fromEntries(rows.filter(({ credits }) => credits !== 0n).map(({ key, credits }) => [key, credits]));
}

/** Of an outlet that was begun. */
export function outletRow(connection: LedgerDb) {
  const row = readOutlet(connection, 'billing');
  if (row === undefined) throw new Error('it was not started');
  return row;
}

/** What the receiver does not have, by entry: `[entry, tenant, month, state, reason]`. */
export function exceptions(connection: LedgerDb): unknown[][] {
  return connection
    .prepare('SELECT entry_id, tenant_id, period, state, reason FROM finance_outlet_events ORDER BY entry_id')
    .raw()
    .all() as unknown[][];
}
