import type Database from 'better-sqlite3';
import pg from 'pg';
import { expect } from 'vitest';
import type { ReplicaClient } from '../../src/publish/connect.ts';
import { MIRRORS } from '../../src/publish/replica/mirrors.ts';
import { unescapeNul } from '../../src/publish/send/nul.ts';

type Row = Record<string, unknown>;

/** What a copy of a ledger has for itself. */
const OWN: Readonly<Record<string, string>> = {
  ledger_meta: "WHERE name <> 'replica_epoch'",
};

/** Who works at the moment, and when somebody looks next, is sent as it comes and nobody's promise. */
const AT_WORK = ['claimed_until', 'unknown_attempts', 'ask_at', 'asked_at'];

/** Expects every table of the replica to have the ledger's rows, value by value. */
export async function expectSameTables(
  connection: Database.Database,
  client: ReplicaClient,
  where: string,
): Promise<void> {
  const id = connection.prepare("SELECT value FROM ledger_meta WHERE name = 'ledger_id'").pluck().get();
  for (const { name, columns, key } of MIRRORS) {
    const names = columns.map((column) => column.name).filter((column) => !AT_WORK.includes(column));
    const order = `ORDER BY ${key.join(', ')}`;
    const here = connection
      .prepare(`SELECT ${names.join(', ')} FROM ${name} ${OWN[name] ?? ''} ${order}`)
      .safeIntegers();
    const there = await client.query<Row>(
      `SELECT ${names.map(pg.escapeIdentifier).join(', ')} FROM ${name} WHERE ledger_key = (SELECT ledger_key FROM ledgers WHERE ledger_id = $1) ${order}`,
      [id],
    );
    const plain = there.map((row) =>
      Object.fromEntries(
        Object.entries(row).map(([column, value]) => [column, typeof value === 'string' ? unescapeNul(value) : value]),
      ),
    );
    expect(plain, `${where}: ${name}`).toEqual(here.all());
  }
}
