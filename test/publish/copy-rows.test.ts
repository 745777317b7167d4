import { expect, test } from 'vitest';
import { copyLines, inPostgresTransaction } from '../../src/publish/in-postgres.ts';
import { COPIED_TABLES } from '../../src/publish/tables.ts';
import { rejection } from '../support/rejection.ts';
import { copyServer } from './copy-server.ts';

const copies = copyServer();
const [workspaces] = COPIED_TABLES;

/** Sends lines that a function makes, to a table that goes with the transaction. */
function copy(lines: (cut: () => void) => Iterable<string>): Promise<number> {
  return inPostgresTransaction(copies.server().target('public'), async (client) => {
    if (workspaces === undefined) throw new Error('there is no table');
    await client.query(
      'CREATE TEMP TABLE workspaces (ledger_key int, workspace_key bigint, workspace_id text, ended_seq bigint)',
    );
    return copyLines(
      client,
      workspaces,
      lines(() => client.connection.stream.destroy()),
    );
  });
}

test('between a thousand rows, and between two steps without any, the event loop has its turn', async () => {
  let sinceTurn = 0;
  let most = 0;
  let going = true;
  const turn = (): void => {
    sinceTurn = 0;
    if (going) setImmediate(turn);
  };
  turn();
  const lines = function* (): Generator<string, void> {
    for (let row = 0; row < 100_000; row += 1) {
      sinceTurn += 1;
      most = Math.max(most, sinceTurn);
      // A tenth of a step brings rows, the rest nothing.
      yield row % 500 === 499 ? '' : `1\t${row}\t${'x'.repeat(100)}\t\\N`;
    }
  };
  expect(await copy(lines)).toBe(99_800);
  going = false;
  expect(most).toBeLessThan(1_000);
});

test('a connection that breaks while rows are on their way is one failure that may pass', async () => {
  const failure = await rejection(
    copy(function* (cut): Generator<string, void> {
      for (let row = 0; row < 100_000; row += 1) {
        if (row === 50_000) cut();
        // The failure comes between two chunks.
        if (row === 50_001) yield* Array<string>(50).fill('');
        yield `1\t${row}\tworkspace ${row}\t\\N`;
      }
    }),
  );
  expect(failure).toMatchObject({ code: 'publish_unreachable', retryable: true });
});
