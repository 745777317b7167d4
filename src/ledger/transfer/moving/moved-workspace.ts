import { cardsInForce } from '../../journal/charges/card-store.ts';
import { movedAway } from '../../journal/moved-away.ts';
import { headOfChain } from '../../journal/runs/digest.ts';
import { LedgerError } from '../../store/errors.ts';
import type { LedgerConnection } from '../../store/file/open.ts';
import { query } from '../../store/query.ts';
import { alerts } from '../../store/schema/alert-tables.ts';
import { and, eq } from '../../store/schema/drizzle.ts';
import { ledgerId } from '../../store/schema/identity.ts';
import { schemaVersion } from '../../store/schema/migrate.ts';
import { runs } from '../../store/schema/run-tables.ts';
import { periods, tenants, workspaceMoves } from '../../store/schema/workspace-tables.ts';
import { findWorkspace } from '../../store/subjects.ts';

/** The name under which the exported ledger is attached to the one that takes the workspace in. */
export const ORIGIN = 'origin';

/** A workspace in the exported ledger, as it is attached. */
export interface MovedWorkspace {
  workspaceId: string;
  workspaceKey: number;
  name: string;
  ledgerId: string;
  /** The head of that ledger's chain. */
  position: number;
  headDigest: string;
}

/**
 * Finds the workspace that the exported ledger gives away; `workspaceId` says which when there are several. `origin` reads
 * the file that is attached to `connection`.
 *
 * @throws LedgerError `other_schema`, `not_an_export`, `same_ledger`, `history_present`, `other_rate_cards`.
 */
export function findMoved(
  connection: LedgerConnection,
  origin: LedgerConnection,
  workspaceId: string | undefined,
): MovedWorkspace {
  requireSameSchema(connection, origin);
  const exported = movedAway(origin);
  const names = exported.map((id) => JSON.stringify(id)).join(', ');
  if (exported.length === 0) {
    throw new LedgerError('not_an_export', 'the file is a copy of a ledger that has exported no workspace', {
      hint: 'make it with `usage-ledger workspace export ID --out FILE` where the workspace is now',
    });
  }
  if (workspaceId === undefined && exported.length > 1) {
    throw new LedgerError('not_an_export', `the ledger of the file has exported several workspaces: ${names}`, {
      hint: 'name one with --workspace',
    });
  }
  const wanted = exported.find((id) => workspaceId === undefined || id === workspaceId);
  const found = wanted === undefined ? undefined : findWorkspace(origin, wanted);
  if (found === undefined) {
    throw new LedgerError(
      'not_an_export',
      `the file has no export of ${JSON.stringify(workspaceId)}, but of ${names}`,
      {
        hint: 'name one of these with --workspace, or the file that `workspace export` has written for it',
      },
    );
  }
  const from = ledgerId(origin);
  if (from === ledgerId(connection)) {
    throw new LedgerError('same_ledger', 'the file is a copy of this very ledger', {
      hint: '`usage-ledger workspace keep` takes the export back; to move it, import it where another ledger is',
    });
  }
  const head = headOfChain(origin);
  const moved = { ...found, ledgerId: from, position: head.seq, headDigest: head.digest };
  requireNoHistory(connection, moved);
  requireSameCards(connection, origin);
  return moved;
}

function requireSameSchema(connection: LedgerConnection, origin: LedgerConnection): void {
  if (schemaVersion(origin) === schemaVersion(connection)) return;
  throw new LedgerError('other_schema', 'the file was written by another version of usage-ledger than this one', {
    hint: 'install the same version on both hosts, `usage-ledger migrate` on the old one, and export again',
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
function requireSameCards(connection: LedgerConnection, origin: LedgerConnection): void {
  const inForce = (ledger: LedgerConnection): string => {
    const digests = cardsInForce(ledger).map(({ digest }) => digest);
    return digests.sort().join();
  };
  if (inForce(origin) === inForce(connection)) return;
  throw new LedgerError('other_rate_cards', 'the rate cards in force here are not those of the ledger in the file', {
    hint: 'put the same cards into force here, by `usage-ledger migrate` and `usage-ledger rates apply --yes`, then try again',
  });
}
