import { afterAll, beforeAll } from 'vitest';
import type { ReplicaClient } from '../../src/publish/connect.ts';
import { migrateReplica } from '../../src/publish/replica/migrate-replica.ts';
import { type PostgresServer, startPostgres } from '../support/postgres.ts';

/** A replica for all tests of a file, empty, on a server that ends with them; the function gives a connection to it. */
export function fileReplica(schema: string): () => ReplicaClient {
  let server: PostgresServer | undefined;
  let client: ReplicaClient | undefined;
  beforeAll(async () => {
    server = await startPostgres();
    client = await server.connect(schema);
    await migrateReplica(client, schema);
  });
  afterAll(async () => {
    await client?.close();
    await server?.remove();
  });
  return () => {
    if (client === undefined) throw new Error('the replica is there within tests only');
    return client;
  };
}
