import { randomInt } from 'node:crypto';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import type { Fault } from '../../../../../src/ledger/audit/verify/fault.ts';
import { verifyLedger } from '../../../../../src/ledger/audit/verify/verify.ts';
import type { LedgerDb } from '../../../../../src/ledger/store/ledger-db.ts';
import { Random } from '../../../../support/random.ts';
import { COVERED, carryOut, describeEdit, type Edit, Editor } from './edits.ts';
import { whatIsNamed } from './expectations.ts';
import { buildRichLedger } from './rich-ledger.ts';

/** The same seed makes the same edits. */
const seed = Number(process.env.TAMPER_SEED ?? randomInt(2 ** 31));
const edits = Number(process.env.TAMPER_EDITS ?? 200);

test(
  `each of ${edits} edits behind the ledger's back is found, and the first fault names where (TAMPER_SEED=${seed})`,
  async () => {
    const connection = await buildRichLedger();
    const editor = new Editor(connection);
    const triggers = triggersOf(connection);
    for (const name of triggers.keys()) connection.exec(`DROP TRIGGER ${name}`);
    const bytes = connection.serialize();
    const random = new Random(seed);
    const missed: string[] = [];
    for (let done = 0; done < edits; ) {
      const covered = COVERED[done % COVERED.length];
      if (covered === undefined) break;
      const copy = new Database(bytes);
      copy.pragma('foreign_keys = OFF');
      const edit = editor.random(random, covered);
      if (carryOut(copy, edit)) {
        for (const sql of triggers.values()) copy.exec(sql);
        missed.push(...complaintsAbout(edit, verifyLedger(copy).faults, editor));
        done += 1;
      }
      copy.close();
    }
    expect(missed).toEqual([]);
  },
  120_000 + 1_000 * edits,
);

function complaintsAbout(edit: Edit, faults: readonly Fault[], editor: Editor): string[] {
  const [first] = faults;
  if (first === undefined) return [`not found: ${describeEdit(edit)}`];
  const said = `${first.runId} entry ${first.entryId} ${first.message}`;
  const named = whatIsNamed(edit, editor);
  if (named.length === 0 || named.some((name) => said.includes(name))) return [];
  return [`${describeEdit(edit)}: found as "${first.check}: ${said}", which names none of ${JSON.stringify(named)}`];
}

function triggersOf(connection: LedgerDb): Map<string, string> {
  const rows = connection.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").all() as {
    name: string;
    sql: string;
  }[];
  return new Map(rows.map(({ name, sql }) => [name, sql]));
}
