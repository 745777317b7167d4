import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { verifyLedger } from '../../../../src/ledger/audit/verify/verify.ts';
import { openForWriting } from '../../../../src/ledger/store/file/open.ts';
import type { LedgerDb } from '../../../../src/ledger/store/ledger-db.ts';
import { dumpOf } from '../../../support/ledger-view.ts';
import { openLedger, publish, usageRecord } from '../../../support/open-ledger.ts';
import { Random } from '../../../support/random.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';
import { NOON } from '../../../support/time/test-clock.ts';

/** Damages of each kind; `npm run test:faults` makes 750. */
const DAMAGES = Number(process.env.DAMAGES ?? 40);
const SEED = Number(process.env.DAMAGE_SEED ?? 1);
const RUNS = 16;
/** The runs until here have been written back from the WAL into the file. */
const IN_FILE = 8;

interface Files {
  ledger: Buffer;
  wal: Buffer;
}

type Damage = (files: Files, random: Random) => Files;

const cut = (bytes: Buffer, random: Random): Buffer => bytes.subarray(0, random.below(bytes.length));
const turned = (bytes: Buffer, random: Random): Buffer => {
  const changed = Buffer.from(bytes);
  const at = random.below(bytes.length);
  changed.writeUInt8(changed.readUInt8(at) ^ (1 << random.below(8)), at);
  return changed;
};

/** What SQLite's checksums cover gives a prefix at once; of the file itself it has none, and `verify` finds the rest. */
test.each<{ what: string; damage: Damage; verified: boolean }>([
  { what: 'WAL that is cut', damage: (files, random) => ({ ...files, wal: cut(files.wal, random) }), verified: false },
  {
    what: 'turned bit of the WAL',
    damage: (files, random) => ({ ...files, wal: turned(files.wal, random) }),
    verified: false,
  },
  {
    what: 'file that is cut',
    damage: (files, random) => ({ ledger: cut(files.ledger, random), wal: Buffer.alloc(0) }),
    verified: true,
  },
  {
    what: 'turned bit of the file',
    damage: (files, random) => ({ ledger: turned(files.ledger, random), wal: Buffer.alloc(0) }),
    verified: true,
  },
])(
  'of a $what comes what was committed up to some run, or a refusal',
  async ({ damage, verified }) => {
    const { files, committed } = await buildHistory();
    const random = new Random(SEED);
    const folder = temporaryFolder();
    const seen = new Set<string>();
    for (let number = 1; number <= DAMAGES; number += 1) {
      const place = join(folder, String(number));
      mkdirSync(place);
      const damaged = damage(files, random);
      writeFileSync(join(place, 'ledger.db'), damaged.ledger);
      if (damaged.wal.length > 0) writeFileSync(join(place, 'ledger.db-wal'), damaged.wal);
      const found = whatOpens(join(place, 'ledger.db'), verified);
      if (found !== 'refused') expect(committed, `damage ${number} of seed ${SEED}`).toContain(found);
      seen.add(found);
      rmSync(place, { recursive: true });
    }
    // Damages that never show would prove nothing.
    expect([...seen]).not.toEqual([committed.at(-1)]);
  },
  1_800_000,
);

/** The views of a damaged ledger as text, as the daemon would find them; `refused` when it, or verify, would say so. */
function whatOpens(path: string, verified: boolean): string {
  let connection: LedgerDb | null = null;
  try {
    connection = openForWriting(path);
    if (verified && verifyLedger(connection).faults.length > 0) return 'refused';
    return dumpOf(connection);
  } catch (error) {
    if (error instanceof Database.SqliteError || (error instanceof Error && 'code' in error)) return 'refused';
    throw error;
  } finally {
    connection?.close();
  }
}

/** A ledger of which the first runs stand in the file and the others in the WAL, with what each run has made of it. */
async function buildHistory(): Promise<{ files: Files; committed: string[] }> {
  const { connection, path } = openLedger();
  connection.pragma('wal_autocheckpoint = 0');
  const committed = [dumpOf(connection)];
  for (let run = 1; run <= RUNS; run += 1) {
    const records = Array.from({ length: 40 }, (_, tenant) =>
      usageRecord(`tenant-${tenant}`, 100 * tenant + (tenant % 4 === run % 4 ? run : 0)),
    );
    await publish(connection, records, { nowMs: NOON + run * 60_000 });
    committed.push(dumpOf(connection));
    if (run === IN_FILE) connection.pragma('wal_checkpoint(TRUNCATE)');
  }
  return { files: { ledger: readFileSync(path), wal: readFileSync(`${path}-wal`) }, committed };
}
