import type { ReplicaClient } from '../connect.ts';
import { isRefusal } from '../replica-error.ts';
import { type NamedStatement, VIEWS } from './statements.ts';

/**
 * Makes the views anew, each in its place, so that what people made of it stays. Where Postgres refuses that, as it does for other
 * columns, all go and come again with the rights that people had to them.
 */
export async function mendViews(client: ReplicaClient, strange: readonly NamedStatement[]): Promise<void> {
  await client.query('SAVEPOINT mending');
  try {
    for (const { sql } of strange) await client.query(sql);
  } catch (error) {
    if (!isRefusal(error)) throw error;
    await client.query('ROLLBACK TO SAVEPOINT mending');
    await withoutViews(client, async () => undefined);
  }
}

/** Does what cannot be done below views, and makes them anew with the rights that people had to them. */
export async function withoutViews(client: ReplicaClient, work: () => Promise<void>): Promise<void> {
  const names = VIEWS.map(({ name }) => name);
  const grants = await client.query<{ grant: string }>(
    `SELECT format('GRANT %s ON %I TO %s', a.privilege_type, c.relname, coalesce(quote_ident(r.rolname), 'PUBLIC')) AS grant
     FROM pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) a LEFT JOIN pg_roles r ON r.oid = a.grantee
     WHERE c.relnamespace = current_schema()::regnamespace AND c.relname = ANY ($1)`,
    [names],
  );
  const found = await client.query<{ name: string }>(
    "SELECT relname AS name FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relname = ANY ($1) AND relkind = 'v'",
    [names],
  );
  if (found.length > 0) await client.query(`DROP VIEW ${found.map(({ name }) => name).join(', ')}`);
  await work();
  for (const { sql } of VIEWS) await client.query(sql);
  for (const { grant } of grants) await client.query(grant);
}
