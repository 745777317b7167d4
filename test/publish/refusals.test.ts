import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readCopyStatus } from '../../src/publish/copy-status.ts';
import { publishLedger } from '../../src/publish/publish-ledger.ts';
import { type PostgresAccess, toPublishRefusal } from '../../src/publish/refusals.ts';
import { openLedger, publish, usageRecord } from '../support/open-ledger.ts';
import { type PostgresServer, type Reader, startPostgres } from '../support/postgres.ts';
import { rejection } from '../support/rejection.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { NOON } from '../support/time/test-clock.ts';

const PLACE: PostgresAccess = { role: 'pub', database: 'finance', schema: 'ledger' };

/** SQLSTATEs of appendix A of the manual of Postgres. */
test.each<[state: string, code: string, retryable: boolean, words: RegExp, remedy: RegExp]>([
  ['28P01', 'publish_denied', false, /^Postgres refused the password of role pub \(28P01\)$/, /publish\.url.*reload/],
  ['28000', 'publish_denied', false, /the login of role pub/, /pg_hba\.conf/],
  ['3D000', 'publish_denied', false, /database finance: it does not exist/, /CREATE DATABASE "finance"/],
  ['3F000', 'publish_denied', false, /schema ledger to role pub/, /GRANT USAGE, CREATE ON SCHEMA "ledger" TO "pub"/],
  ['42501', 'publish_denied', false, /in schema ledger to role pub/, /owner of schema ledger/],
  ['25006', 'publish_read_only', true, /read-only transaction/, /may write/],
  ['53300', 'publish_unreachable', true, /connection of role pub: no slot is free/, /max_connections.*PgBouncer/],
  ['53100', 'publish_unreachable', true, /disk is full/, /make room/],
  ['53200', 'publish_unreachable', true, /out of memory/, /memory/],
  ['57P03', 'publish_unreachable', true, /starting or stopping/, /log of Postgres/],
])('%s is %s, and says what was refused and what to do', (state, code, retryable, words, remedy) => {
  const error = toPublishRefusal(state, PLACE);
  expect(error).toMatchObject({ code, retryable, hint: expect.stringMatching(remedy) });
  expect(error?.message).toMatch(words);
  expect(error?.message).toContain(`(${state})`);
});

test('other SQLSTATEs are none of these', () => {
  for (const state of ['', '08006', '40001', '57014', '22P02', 'ECONNREFUSED'])
    expect(toPublishRefusal(state, PLACE)).toBeNull();
});

let server: PostgresServer;
let owner: Reader;
beforeAll(async () => {
  server = await startPostgres();
  owner = await server.connect('public');
});
afterAll(async () => {
  await owner.close();
  await server.remove();
});

let schemas = 0;
/** A ledger that the role `pub` publishes into a schema of its own; `make` prepares the schema as its owner. */
async function world(make: (schema: string, role: string) => string, published = false) {
  schemas += 1;
  const [schema, role] = [`copy_${schemas}`, `pub_${schemas}`];
  const path = join(temporaryFolder(), 'ledger.db');
  const { connection } = openLedger(path);
  await publish(connection, [usageRecord('acme', 10)]);
  const owned = server.target(schema);
  const target = { ...owned, url: owned.url.replace('user=usage_ledger', `user=${role}`) };
  await owner.query(`CREATE ROLE ${role} LOGIN`);
  if (published) {
    await publishLedger({ target: owned, ledgerPath: path, nowMs: NOON });
    await owner.query(`GRANT USAGE ON SCHEMA ${schema} TO ${role};
      GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO ${role}`);
    await publish(connection, [usageRecord('acme', 20)]);
  }
  await owner.query(make(schema, role));
  const attempt = () => publishLedger({ target, ledgerPath: path, nowMs: NOON });
  const named = (text: string): string => text.replaceAll('{schema}', schema).replaceAll('{role}', role);
  return { attempt, named, standing: () => readCopyStatus(target, connection, NOON) };
}

/** What the role lacks; publishing names it, and its own remedy mends it. */
test.each<
  [what: string, published: boolean, make: (schema: string, role: string) => string, message: string, remedy: string]
>([
  [
    'CREATE on the database',
    false,
    () => 'REVOKE CREATE ON DATABASE postgres FROM PUBLIC',
    'Postgres refused CREATE on database postgres to role {role}: permission denied (42501)',
    'CREATE SCHEMA "{schema}" AUTHORIZATION "{role}"',
  ],
  [
    'every right on the schema',
    false,
    (schema) => `CREATE SCHEMA ${schema}`,
    'Postgres refused USAGE, CREATE on schema {schema} to role {role}: permission denied (3F000)',
    'GRANT USAGE, CREATE ON SCHEMA "{schema}" TO "{role}"',
  ],
  [
    'CREATE on the schema',
    false,
    (schema, role) => `CREATE SCHEMA ${schema}; GRANT USAGE ON SCHEMA ${schema} TO ${role}`,
    'Postgres refused CREATE on schema {schema} to role {role}: permission denied (42501)',
    'GRANT CREATE ON SCHEMA "{schema}" TO "{role}"',
  ],
  [
    'USAGE on the schema of a copy',
    true,
    (schema, role) => `REVOKE USAGE ON SCHEMA ${schema} FROM ${role}`,
    'Postgres refused USAGE on schema {schema} to role {role}: permission denied (3F000)',
    'GRANT USAGE ON SCHEMA "{schema}" TO "{role}"',
  ],
  [
    'INSERT on one table',
    true,
    (schema, role) => `REVOKE INSERT ON ${schema}.usage_entries FROM ${role}`,
    'Postgres refused INSERT on {schema}.usage_entries to role {role}: permission denied (42501)',
    'GRANT INSERT ON "{schema}"."usage_entries" TO "{role}"',
  ],
  [
    'UPDATE on the positions',
    true,
    (schema, role) => `REVOKE UPDATE ON ALL TABLES IN SCHEMA ${schema} FROM ${role}`,
    'Postgres refused UPDATE on {schema}.ledgers to role {role}: permission denied (42501)',
    'GRANT UPDATE ON "{schema}"."ledgers" TO "{role}"',
  ],
  [
    'DELETE on two tables',
    true,
    (schema, role) => `REVOKE DELETE ON ${schema}.runs, ${schema}.tenant_usage FROM ${role}`,
    'Postgres refused DELETE on {schema}.runs, {schema}.tenant_usage to role {role}: permission denied (42501)',
    'GRANT DELETE ON "{schema}"."runs", "{schema}"."tenant_usage" TO "{role}"',
  ],
  [
    'INSERT on all tables',
    true,
    (schema, role) => `REVOKE INSERT ON ALL TABLES IN SCHEMA ${schema} FROM ${role}`,
    'Postgres refused INSERT on 25 tables of schema {schema} to role {role}: permission denied (42501)',
    'GRANT INSERT ON ALL TABLES IN SCHEMA "{schema}" TO "{role}"',
  ],
  [
    'transactions that write',
    true,
    (_schema, role) => `ALTER ROLE ${role} SET default_transaction_read_only TO on`,
    'Postgres refused to write in a read-only transaction: default_transaction_read_only is on for role {role} (25006)',
    'ALTER ROLE "{role}" RESET default_transaction_read_only',
  ],
])(
  'a role without %s is told which right it lacks, and the remedy is enough',
  async (_what, published, make, message, remedy) => {
    const { attempt, named, standing } = await world(make, published);
    const refused = await rejection(attempt());
    expect(refused).toMatchObject({ message: named(message), hint: `run ${named(remedy)}` });
    const { fault } = await standing();
    expect(fault).toMatchObject({
      code: expect.stringMatching(/^publish_(denied|read_only)$/),
      hint: `run ${named(remedy)}`,
    });
    await owner.query(named(remedy));
    expect(await attempt()).toMatchObject({ to: published ? 2 : 1 });
    expect((await standing()).fault).toBeNull();
  },
);
