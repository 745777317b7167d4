import { describe, expect, it } from 'vitest';
import type { Operation } from '../../../src/operations/operation.ts';
import { OPERATIONS } from '../../../src/operations/operations.ts';
import { copiesOf, parseJson } from '../../commands/world.ts';
import { commandLineOf, inputOf, ledgerOfOperations } from '../../operations/ledger-of-operations.ts';
import { connectOverHttp } from '../mcp/mcp-client.ts';
import { requestOf, serveApi } from './served-api.ts';

/** Compares each read of a kind over HTTP with its command and with its tool of MCP; `isPart` picks those of a file. */
export function describeReads(kind: Operation['kind'], isPart: (operation: Operation) => boolean = () => true): void {
  const ofKind = OPERATIONS.filter((operation) => operation.role === 'read' && operation.kind === kind);
  const reads = ofKind.filter(isPart);
  // Made for each file that calls this: the folder of the original is removed at the end of the file.
  const worldOfOperations = copiesOf(ledgerOfOperations);
  describe(`a ${kind} over HTTP`, () => {
    it.each(reads.map((operation) => [operation.name, operation] as const))(
      'answers %s with the document of its command, and MCP does the same',
      async (name, operation) => {
        const world = await worldOfOperations();
        const { url, ask } = await serveApi(world);
        const input = inputOf(name, world);
        const { status, json, text } = await ask(...requestOf(operation, input));
        expect([status, status === 200 ? '' : text]).toEqual([200, '']);
        const { snapshot, next_cursor, ...document } = json;
        expect(snapshot).toEqual({
          as_of: '2026-02-20T13:00:00.000Z',
          head_digest: expect.stringMatching(/^[0-9a-f]{64}$/),
          complete: true,
        });
        const { call } = await connectOverHttp(url);
        const reply = await call(name.replace('.', '_'), operation.kind === 'list' ? { ...input, limit: 200 } : input);
        expect([reply.isError, reply.notes, reply.json]).toEqual([false, [], json]);
        if (operation.command === null) return;
        const { out } = await world.run(...commandLineOf(name, operation.command, input));
        expect(document).toEqual(parseJson(out));
      },
      20_000,
    );
  });
}
