import type { ReplicaClient } from '../connect.ts';
import { MIRRORS } from '../replica/mirrors.ts';
import { OWN_TABLES } from '../replica/statements.ts';
import { ReplicaError } from '../replica-error.ts';

const TABLES = [...OWN_TABLES, ...MIRRORS.map(({ name }) => name)];
/** In kilobytes; what a publish of some hundred runs takes. */
const ROOM_KB = 1024;

/** Does what a publish needs, and leaves nothing. Throws ReplicaError: the user may not write, or there is no room. */
export async function tryWriting(client: ReplicaClient): Promise<void> {
  await client.transaction(
    async () => {
      const denied = await client.query<{ name: string; role: string }>(
        `SELECT name, current_user AS role FROM unnest($1::text[]) name
         WHERE NOT (has_table_privilege(name, 'SELECT') AND has_table_privilege(name, 'INSERT')
           AND has_table_privilege(name, 'UPDATE') AND has_table_privilege(name, 'DELETE'))`,
        [TABLES],
      );
      const [first] = denied;
      if (first !== undefined) {
        const which = denied.length === TABLES.length ? 'any table' : denied.map(({ name }) => name).join(', ');
        throw new ReplicaError('replica_denied', `the user ${first.role} may not write to ${which} of the replica`, {
          hint: "publish.url must name the publisher's role, which owns the schema; readers get the views only",
        });
      }
      // In no log of changes: a server without room says so, and goes on.
      await client.query(
        'CREATE TEMP TABLE room (filler text) ON COMMIT DROP; ALTER TABLE room ALTER filler SET STORAGE PLAIN',
      );
      await client.query("INSERT INTO room SELECT repeat('x', 1000) FROM generate_series(1, $1)", [ROOM_KB]);
    },
    { undone: true },
  );
}
