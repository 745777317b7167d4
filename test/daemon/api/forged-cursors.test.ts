import { expect, it } from 'vitest';
import { encodeCursor } from '../../../src/daemon/api/cursor.ts';
import { cursorPlace } from '../../../src/daemon/api/documents.ts';
import type { Scope } from '../../../src/operations/operation.ts';
import { OPERATIONS } from '../../../src/operations/operations.ts';
import { copiesOf } from '../../commands/world.ts';
import { inputOf, ledgerOfOperations } from '../../operations/ledger-of-operations.ts';
import { requestOf, serveApi } from './served-api.ts';

it('a cursor with the key of no row is continued or refused by every list', async () => {
  const world = await copiesOf(ledgerOfOperations)();
  const { ask, context } = await serveApi(world);
  const { connection } = context.reader();
  for (const operation of OPERATIONS.filter(({ kind }) => kind === 'list')) {
    const fields = inputOf(operation.name, world);
    const place = cursorPlace(operation, { connection } as Scope, operation.input.parse(fields));
    for (const key of [[], [1n, 'x', null, 2, 'y', 'z']]) {
      const [path, question] = requestOf(operation, { ...fields, cursor: encodeCursor(place, key) });
      const { status, text } = await ask(path, question);
      expect([200, 400], `${operation.name} ${key}: ${text}`).toContain(status);
    }
  }
});
