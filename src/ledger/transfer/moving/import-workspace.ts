import Database from 'better-sqlite3';
import { isoTime } from '../../../core/clock.ts';
import type { Check } from '../../audit/verify/fault.ts';
import { verifyLedger } from '../../audit/verify/verify.ts';
import { headOfChain } from '../../journal/runs/digest.ts';
import { LedgerError } from '../../store/errors.ts';
import type { LedgerConnection } from '../../store/file/open.ts';
import { attach, countRows } from '../../store/file/schema-objects.ts';
import { query } from '../../store/query.ts';
import { and, asc, eq, isNull } from '../../store/schema/drizzle.ts';
import { PERIODS_PER_WORKSPACE } from '../../store/schema/keys.ts';
import { movedLinks, periods } from '../../store/schema/workspace-tables.ts';
import { highest, nameWorkspace } from '../../store/subjects.ts';
import { whatConcerns } from './concerned.ts';
import { copyHistory, dropMaps, makeMaps } from './copy-history.ts';
import { findMoved, type MovedWorkspace, ORIGIN } from './moved-workspace.ts';
import { replayLinks } from './replay-links.ts';
import { noteMove } from './seal-workspace.ts';

export interface ImportOrder {
  /** Writes to the ledger that takes the workspace in. */
  connection: LedgerConnection;
  /** The file of an export, checked already; nobody else may change it meanwhile. */
  file: string;
  /** Set where the file is no export yet, but a copy of the ledger that exports this workspace. */
  workspaceId?: string | undefined;
  /** Who imports; stored as given. */
  by: string;
  nowMs: number;
  /** Prices a period that is not closed by the cards in force here. */
  price: (connection: LedgerConnection, periodKey: number) => void;
  /** What must hold beside what every ledger demands. */
  checks: readonly Check[];
}

export interface ImportedWorkspace {
  workspaceId: string;
  /** Where it comes from, and the head of that chain. */
  from: Pick<MovedWorkspace, 'ledgerId' | 'position' | 'headDigest'>;
  /** Runs, closes and reopens that are links of this chain now. */
  links: number;
  entries: number;
  tenants: number;
  periods: number;
  alerts: number;
  /** This ledger's head now. */
  headDigest: string;
}

/**
 * Takes a workspace in with all its history, in one transaction: its runs, closes and reopens become links of this chain, each
 * naming what it was in the ledger that made it. Nothing is changed unless the whole ledger verifies afterwards.
 *
 * @throws LedgerError what `findMoved` throws, and `import_faulty`.
 */
export function importWorkspace(order: ImportOrder): ImportedWorkspace {
  const { connection, file } = order;
  const origin = new Database(file, { readonly: true });
  try {
    attach(connection, file, ORIGIN);
    return connection.transaction(() => bringIn(order, origin)).immediate();
  } finally {
    origin.close();
    connection.exec(`DETACH DATABASE ${ORIGIN}`);
  }
}

function bringIn(order: ImportOrder, origin: LedgerConnection): ImportedWorkspace {
  const { connection, workspaceId, by, nowMs, price, checks } = order;
  const moved = findMoved(connection, origin, workspaceId);
  const to = nameWorkspace(connection, moved).workspaceKey;
  const from = moved.workspaceKey;
  const head = headOfChain(connection).seq;
  const now = isoTime(nowMs);
  const db = query(connection);
  const sets = highest(connection, movedLinks.cardSet);
  const concerned = whatConcerns(origin, moved);
  const keys = { from, to, shift: (to - from) * PERIODS_PER_WORKSPACE, head, now, sets, ...concerned };
  makeMaps(connection, keys);
  const links = countRows(connection, 'temp.moving_links');
  copyHistory(connection, { ...keys, lastLink: head + links });
  const isOpen = and(eq(periods.workspaceKey, to), isNull(periods.closedSeq));
  const open = db.select().from(periods).where(isOpen).orderBy(asc(periods.periodKey)).all();
  const { ledgerId, position, headDigest } = moved;
  replayLinks(connection, moved, to);
  const reached = noteMove(connection, {
    ...{ workspaceId: moved.workspaceId, workspaceKey: to, action: 'import', by, nowMs },
    from: { ledgerId, position, headDigest },
  });
  for (const { periodKey } of open) price(connection, periodKey);
  const counts = {
    links,
    entries: countRows(connection, 'temp.moving_entries'),
    tenants: countRows(connection, 'temp.moving_tenants'),
    periods: countRows(connection, `periods WHERE workspace_key = ${to}`),
    alerts: countRows(connection, 'temp.moving_alerts'),
  };
  dropMaps(connection);
  const [fault] = verifyLedger(connection, checks).faults;
  if (fault !== undefined) {
    throw new LedgerError(
      'import_faulty',
      `with ${JSON.stringify(moved.workspaceId)} the ledger would not be sound: ${fault.message}`,
      {
        hint: 'nothing was changed; run `usage-ledger verify` here, and export again where the workspace comes from',
      },
    );
  }
  return {
    workspaceId: moved.workspaceId,
    from: { ledgerId, position, headDigest },
    ...counts,
    headDigest: reached.digest,
  };
}
