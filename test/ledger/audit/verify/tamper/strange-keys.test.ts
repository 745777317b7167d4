import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { checkEntries, checkState, hasUnexpectedKey } from '../../../../../src/ledger/audit/verify/verify-keys.ts';
import type { LedgerDb } from '../../../../../src/ledger/store/ledger-db.ts';
import { dropTriggers } from '../../../../support/open-ledger.ts';
import { Random } from '../../../../support/random.ts';
import { COVERED, carryOut, describeEdit, Editor } from './edits.ts';
import { buildRichLedger } from './rich-ledger.ts';

const EDITS = 400;

test('the quick check of all keys finds whatever the exact checks would name, and nothing in a valid ledger', async () => {
  const connection = await buildRichLedger();
  expect(hasUnexpectedKey(connection)).toBe(false);
  const editor = new Editor(connection);
  dropTriggers(connection);
  const bytes = connection.serialize();
  const random = new Random(7);
  const tables = COVERED.filter(({ table }) => table === 'usage_entries' || table === 'tenant_usage');
  const missed: string[] = [];
  let found = 0;
  for (let done = 0; done < EDITS; ) {
    const edit = editor.random(random, random.pick(tables));
    // Which run an entry is of is for the walk along the chain.
    if (edit.type === 'update' && edit.column === 'run_key') continue;
    const copy = new Database(bytes);
    copy.pragma('foreign_keys = OFF');
    if (carryOut(copy, edit)) {
      done += 1;
      if (isNamed(copy)) {
        found += 1;
        if (!hasUnexpectedKey(copy)) missed.push(describeEdit(edit));
      }
    }
    copy.close();
  }
  expect(missed).toEqual([]);
  expect(found).toBeGreaterThan(EDITS / 2);
});

/** A sum that does not fit into 64 bits is a finding, too. */
function isNamed(connection: LedgerDb): boolean {
  try {
    return checkEntries(connection).length + checkState(connection).length > 0;
  } catch {
    return true;
  }
}
