import { afterAll, beforeAll } from 'vitest';
import { type PublishReport, type PublishRequest, publishLedger } from '../../src/publish/publish-ledger.ts';
import { type PostgresServer, type Reader, startPostgres } from '../support/postgres.ts';
import { NOON } from '../support/time/test-clock.ts';

/** A schema of a server that lives as long as the tests of a file. */
export interface Copy {
  schema: string;
  reader: Reader;
  publish(ledgerPath: string, more?: Partial<PublishRequest>): Promise<PublishReport>;
}

/** Starts a server for the tests of a file. The function gives a fresh schema of it. */
export function copyServer(): { server: () => PostgresServer; open: () => Promise<Copy> } {
  let server: PostgresServer | undefined;
  const readers: Reader[] = [];
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(async () => {
    for (const reader of readers) await reader.close();
    await server?.remove();
  });
  const running = (): PostgresServer => {
    if (server === undefined) throw new Error('the server is there within tests only');
    return server;
  };
  return {
    server: running,
    async open() {
      const schema = `copy_${readers.length}`;
      const reader = await running().connect(schema);
      readers.push(reader);
      const target = running().target(schema);
      return {
        schema,
        reader,
        publish: (ledgerPath, more) => publishLedger({ target, ledgerPath, nowMs: NOON, ...more }),
      };
    },
  };
}
