import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import type { LedgerConnection } from '../../../src/ledger/store/file/open.ts';
import { Publisher } from '../../../src/publish/publisher.ts';
import { ReplicaError } from '../../../src/publish/replica-error.ts';
import { eventually } from '../../support/eventually.ts';
import { openLedger, publish as runWith, usageRecord } from '../../support/open-ledger.ts';
import type { PostgresServer } from '../../support/postgres.ts';
import { NOON } from '../../support/time/test-clock.ts';
import { expectSameTables } from '../compare-tables.ts';
import { expectSameViews } from '../views/compare-views.ts';

const TENANTS = 3_000;

export interface Played {
  connection: LedgerConnection;
  path: string;
  /** A run that changes about a third of the tenants. */
  run(): Promise<void>;
}

/** A ledger that grows by runs of the test. */
export function play(): Played {
  const { connection, path } = openLedger();
  let round = 0;
  return {
    connection,
    path,
    async run() {
      round += 1;
      const records = Array.from({ length: TENANTS }, (_, index) =>
        usageRecord(`tenant-${index}`, index + (index % 3 === round % 3 ? round : round - 1) * 7),
      );
      await runWith(connection, records, { nowMs: NOON + round * 60_000 });
    },
  };
}

/** Looks again and again, from a connection of its own, whether anybody could see half of something. */
export function poll(server: PostgresServer, schema: string): { stop(): Promise<number> } {
  let going = true;
  let looks = 0;
  const look = async (): Promise<void> => {
    while (going) {
      const client = await server.connect(schema).catch(() => null);
      try {
        for (; client !== null && going; looks += 1) expectWhole(await client.query<Seen>(WHOLE));
      } catch (error) {
        // Before the first publish there is nothing to look at, and a server that was killed comes back.
        if (!(error instanceof ReplicaError)) throw error;
      } finally {
        await client?.close();
      }
      await sleep(20);
    }
  };
  const looking = look();
  looking.catch(() => undefined);
  return {
    async stop() {
      // Or it would have seen nothing.
      await Promise.race([looking, eventually(() => expect(looks).toBeGreaterThan(0))]);
      going = false;
      await looking;
      return looks;
    },
  };
}

interface Seen {
  last_entry_id: bigint;
  entries: bigint;
  highest: bigint | null;
  delta: bigint | null;
  state: bigint | null;
  link: bigint | null;
  position: bigint;
}

const WHOLE = `SELECT l.last_entry_id, l.position,
  (SELECT count(*) FROM usage_entries e WHERE e.ledger_key = l.ledger_key) AS entries,
  (SELECT max(entry_id) FROM usage_entries e WHERE e.ledger_key = l.ledger_key) AS highest,
  (SELECT sum(credits_delta)::bigint FROM usage_entries e WHERE e.ledger_key = l.ledger_key) AS delta,
  (SELECT sum(credits_used)::bigint FROM tenant_usage u WHERE u.ledger_key = l.ledger_key) AS state,
  (SELECT max(applied_seq) FROM runs r WHERE r.ledger_key = l.ledger_key) AS link FROM ledgers l`;

function expectWhole(rows: Seen[]): void {
  for (const { last_entry_id, entries, highest, delta, state, link, position } of rows) {
    expect([entries, highest ?? 0n, state, link ?? 0n]).toEqual([last_entry_id, last_entry_id, delta, position]);
  }
}

/** Publishes what is left, and compares everything. */
export async function expectAllThere(
  server: PostgresServer,
  { connection, path }: Played,
  schema: string,
): Promise<void> {
  const publisher = new Publisher(server.settings(schema), path);
  const client = await server.connect(schema);
  try {
    await publisher.publish({ nowMs: NOON });
    await expectSameTables(connection, client, schema);
    await expectSameViews(connection, client, schema);
  } finally {
    await Promise.all([publisher.close(), client.close()]);
  }
}
