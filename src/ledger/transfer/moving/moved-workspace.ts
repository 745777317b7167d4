import { headOfChain } from '../../journal/runs/digest.ts';
import { LedgerError } from '../../store/errors.ts';
import type { LedgerConnection } from '../../store/file/open.ts';
import { query } from '../../store/query.ts';
import { alerts } from '../../store/schema/alert-tables.ts';
import { and, eq } from '../../store/schema/drizzle.ts';
import { exportedWorkspace, ledgerId } from '../../store/schema/identity.ts';
import { schemaVersion } from '../../store/schema/migrate.ts';
import { runs } from '../../store/schema/run-tables.ts';
import { periods, tenants, workspaceMoves } from '../../store/schema/workspace-tables.ts';
import { findWorkspace } from '../../store/subjects.ts';
import { pricesOf } from './concerned.ts';

/** The name under which the file is attached to the ledger that takes the workspace in. */
export const ORIGIN = 'origin';

/** A workspace in the file, as it is attached. */
export interface MovedWorkspace {
  workspaceId: string;
  workspaceKey: number;
  name: string;
  /** The ledger that gives it away, and the head of its chain. */
  ledgerId: string;
  position: number;
  headDigest: string;
}

/**
 * Finds the workspace that is to be taken in, and refuses what cannot become one history. `origin` reads the file that is
 * attached to `connection`: that of an export, or with a `workspaceId` a copy of the ledger that gives it away.
 *
 * @throws LedgerError `other_schema`, `not_an_export`, `same_ledger`, `history_present`, `other_rate_cards`.
 */
export function findMoved(
  connection: LedgerConnection,
  origin: LedgerConnection,
  workspaceId: string | undefined,
): MovedWorkspace {
  requireSameSchema(connection, origin);
  const moved = workspaceId === undefined ? inExport(origin) : inLedger(origin, workspaceId);
  if (moved === undefined) {
    throw new LedgerError('not_an_export', 'the file holds a ledger, and no export of a workspace', {
      hint: 'make one with `usage-ledger workspace export ID --out FILE` where the workspace is now',
    });
  }
  if (moved.ledgerId === ledgerId(connection)) {
    throw new LedgerError('same_ledger', 'the file is an export of this very ledger', {
      hint: '`usage-ledger workspace keep` takes the export back; to move it, import it where another ledger is',
    });
  }
  requireNoHistory(connection, moved);
  requireSameCards(connection, origin, moved);
  return moved;
}

/** The file says by the import that has filled it which ledger it is from. */
function inExport(origin: LedgerConnection): MovedWorkspace | undefined {
  const workspaceId = exportedWorkspace(origin);
  const found = workspaceId === undefined ? undefined : findWorkspace(origin, workspaceId);
  const [filled] = query(origin).select().from(workspaceMoves).where(eq(workspaceMoves.action, 'import')).all();
  if (found === undefined || filled?.ledgerId == null) return undefined;
  const { ledgerId, position, headDigest } = filled;
  return { ...found, ledgerId, position, headDigest };
}

function inLedger(origin: LedgerConnection, workspaceId: string): MovedWorkspace | undefined {
  const found = findWorkspace(origin, workspaceId);
  const { seq, digest } = headOfChain(origin);
  return found && { ...found, ledgerId: ledgerId(origin), position: seq, headDigest: digest };
}

function requireSameSchema(connection: LedgerConnection, origin: LedgerConnection): void {
  if (schemaVersion(origin) === schemaVersion(connection)) return;
  throw new LedgerError('other_schema', 'the file was written by another version of usage-ledger than this one', {
    hint: 'install the same version on both machines, `usage-ledger migrate` on the old one, and export again',
  });
}

function requireNoHistory(connection: LedgerConnection, { workspaceId, ledgerId }: MovedWorkspace): void {
  const db = query(connection);
  const workspaceKey = findWorkspace(connection, workspaceId)?.workspaceKey ?? 0;
  const name = JSON.stringify(workspaceId);
  const isImport = and(eq(workspaceMoves.action, 'import'), eq(workspaceMoves.ledgerId, ledgerId));
  const isOwn = eq(workspaceMoves.workspaceKey, workspaceKey);
  const imported = db.select().from(workspaceMoves).where(and(isOwn, isImport)).get();
  if (imported !== undefined) {
    throw new LedgerError(
      'history_present',
      `workspace ${name} was imported from that ledger already, at ${imported.at}`,
      {
        hint: 'nothing is left to do: `usage-ledger verify` checks what is here',
      },
    );
  }
  const held = [runs, periods, tenants, alerts].some(
    (table) => db.select().from(table).where(eq(table.workspaceKey, workspaceKey)).limit(1).get() !== undefined,
  );
  const sameRuns = connection
    .prepare(
      `SELECT 1 FROM ${ORIGIN}.runs o JOIN ${ORIGIN}.workspaces w USING (workspace_key) JOIN main.runs r USING (run_id)
       WHERE w.workspace_id = ? LIMIT 1`,
    )
    .get(workspaceId);
  if (!held && sameRuns === undefined) return;
  throw new LedgerError('history_present', `this ledger has a history of workspace ${name} of its own`, {
    hint: 'restore a backup of this ledger from before it read the workspace, then import; two histories of one workspace cannot become one',
  });
}

/** Open periods are priced by the cards in force here: with others, their charges would not be the same any more. */
function requireSameCards(connection: LedgerConnection, origin: LedgerConnection, moved: MovedWorkspace): void {
  const inForce = (ledger: LedgerConnection): string => {
    const digests = pricesOf(ledger, origin, moved).map(({ digest }) => digest);
    return digests.sort().join();
  };
  if (inForce(origin) === inForce(connection)) return;
  throw new LedgerError('other_rate_cards', 'the rate cards in force here are not those of the ledger in the file', {
    hint: 'put the same cards into force here, by `usage-ledger migrate` and `usage-ledger rates apply --yes`, then try again',
  });
}
