import type { PeriodEventDigestContent } from '../../journal/close/event-line.ts';
import {
  type ActDigestContent,
  createLinkDigests,
  GENESIS_DIGEST,
  type RunDigestContent,
} from '../../journal/runs/digest.ts';
import type { LedgerDb } from '../../store/ledger-db.ts';
import { PERIODS_PER_WORKSPACE } from '../../store/schema/keys.ts';
import { FAULTS_PER_CHECK, type Fault, fault } from './fault.ts';
import { IS_FIGURES } from './verify-keys.ts';

type ChainRun = Omit<RunDigestContent, 'appliedSeq' | 'changesAfter'> & {
  type: 'run';
  seq: number;
  workspaceKey: number;
  digest: string;
};

type ChainEvent = { type: 'event'; seq: number; digest: string } & PeriodEventDigestContent;
type ChainAct = { type: 'act'; seq: number; digest: string } & Omit<ActDigestContent, 'changesAfter'>;
type ChainLink = ChainRun | ChainEvent | ChainAct;

export interface ChainReport {
  faults: Fault[];
  headDigest: string;
  /**
   * True when some entry belongs to a period of another workspace, or has an invalid figure. `checkEntries` then finds
   * out which entry it is.
   */
  strayed: boolean;
}

/**
 * Reads the chain in order and recomputes each digest: one link per applied run, close, reopen or act. Entry ids must
 * follow the order of the chain without a gap, and each entry must belong to the run whose range contains its id.
 */
export function checkChain(connection: LedgerDb): ChainReport {
  const faults: Fault[] = [];
  const add = (link: ChainLink, message: string, entryId: number | null = null): void => {
    if (faults.length >= FAULTS_PER_CHECK) return;
    const runId = link.type === 'run' ? link.runId : null;
    faults.push({ check: 'chain', runId, entryId, message: `${linkName(link)}${message}` });
  };
  const digests = createLinkDigests(connection);
  const look = createEntryFinder(connection);
  let strayed = false;
  let previous = GENESIS_DIGEST;
  let expectedSeq = 1;
  let nextEntryId = 1;
  let changesAfter = 0;
  for (const link of readLinks(connection)) {
    if (link.seq !== expectedSeq) add(link, `link ${expectedSeq} of the chain is missing`);
    if (link.previousDigest !== previous) add(link, 'it does not continue the digest of the previous link');
    if (link.type === 'event') {
      if (digests.ofEvent(link) !== link.digest) add(link, 'its digest does not match its content');
    } else if (link.type === 'act') {
      if (digests.ofAct({ ...link, changesAfter }) !== link.digest) {
        add(link, 'its digest does not match its content or row changes');
      }
      changesAfter = link.lastChangeSeq;
    } else {
      let complete = true;
      if (link.firstEntryId !== null) {
        if (link.firstEntryId !== nextEntryId)
          add(link, `its entries begin at ${link.firstEntryId}, not ${nextEntryId}`);
        nextEntryId = link.firstEntryId + link.entries;
        const { unexpected, strays } = look(link);
        strayed ||= strays;
        if (unexpected !== null) add(link, unexpected.message, unexpected.entryId);
        complete = unexpected?.missing !== true;
      }
      // If entries are missing, the digest is not computed: it cannot match, and a forged, very large number of entries
      // would keep the loop running without end.
      if (complete && digests.ofRun({ ...link, appliedSeq: link.seq, changesAfter }) !== link.digest) {
        add(link, 'its digest does not match its content, entries or row changes');
      }
      changesAfter = link.lastChangeSeq;
    }
    previous = link.digest;
    expectedSeq = link.seq + 1;
  }
  const orphan = connection
    .prepare('SELECT min(entry_id) FROM usage_entries WHERE entry_id >= ? OR entry_id < 1')
    .pluck()
    .get(nextEntryId) as number | null;
  if (orphan !== null) {
    faults.push(fault('chain', `entry ${orphan} belongs to no applied run`, { entryId: orphan }));
  }
  return { faults, headDigest: previous, strayed };
}

/**
 * Returns the start of a message about a link. The start is empty for a run, because the fault already shows the run's
 * id.
 */
function linkName(link: ChainLink): string {
  if (link.type === 'run') return '';
  const what = link.type === 'event' ? link.period : `workspace ${JSON.stringify(link.workspaceId)}`;
  return `${link.action} of ${what} at ${link.at}: `;
}

interface UnexpectedEntry {
  entryId: number;
  message: string;
  missing: boolean;
}

/**
 * The faults in a run's range of entry ids. `unexpected`: the first entry that is missing or belongs to another run.
 * `strays`: true if some entry has a period of another workspace or an invalid figure.
 */
interface CheckedRange {
  unexpected: UnexpectedEntry | null;
  strays: boolean;
}

function createEntryFinder(connection: LedgerDb): (run: ChainRun) => CheckedRange {
  const look = connection.prepare(
    `SELECT count(*) AS found, min(CASE WHEN run_key <> ? THEN entry_id END) AS stray,
       max(period_key / ${PERIODS_PER_WORKSPACE} <> ? OR NOT ${IS_FIGURES}) AS strays
     FROM usage_entries e WHERE entry_id >= ? AND entry_id < ?`,
  );
  const firstMissing = connection
    .prepare(
      `SELECT CASE WHEN NOT EXISTS (SELECT 1 FROM usage_entries WHERE entry_id = ?) THEN ?
         ELSE (SELECT min(e.entry_id) + 1 FROM usage_entries e WHERE e.entry_id >= ? AND e.entry_id < ?
           AND NOT EXISTS (SELECT 1 FROM usage_entries n WHERE n.entry_id = e.entry_id + 1)) END`,
    )
    .pluck();
  const firstUnexpected = (run: ChainRun, found: number, stray: number | null): UnexpectedEntry | null => {
    const first = run.firstEntryId ?? 0;
    const missing = found !== run.entries;
    if (stray !== null)
      return { entryId: stray, message: `entry ${stray} in its range belongs to another run`, missing };
    if (!missing) return null;
    const entryId = firstMissing.get(first, first, first, first + run.entries) as number;
    return { entryId, message: `entry ${entryId} is missing`, missing };
  };
  return (run) => {
    const first = run.firstEntryId ?? 0;
    const row = look.get(run.runKey, run.workspaceKey, first, first + run.entries) as {
      found: number;
      stray: number | null;
      strays: number | null;
    };
    return { unexpected: firstUnexpected(run, row.found, row.stray), strays: row.strays === 1 };
  };
}

/**
 * Reads all links in the order of the chain, one at a time, because the chain of several years does not fit into
 * memory. Opens no statement before the first link is requested.
 */
function readLinks(connection: LedgerDb): Iterable<ChainLink> {
  return inOrder(inOrder(readRuns(connection), readEvents(connection)), readActs(connection));
}

function* inOrder(many: Iterable<ChainLink>, few: Iterator<ChainLink>): Generator<ChainLink, void> {
  try {
    let next = few.next();
    for (const one of many) {
      for (; next.done !== true && next.value.seq < one.seq; next = few.next()) yield next.value;
      yield one;
    }
    for (; next.done !== true; next = few.next()) yield next.value;
  } finally {
    // Ends the statement of `few` when `many` fails on an unreadable file, because the ledger cannot be closed while a
    // statement is open.
    few.return?.();
  }
}

function* readRuns(connection: LedgerDb): Generator<ChainRun, void> {
  yield* connection
    .prepare(
      `SELECT 'run' AS type, r.applied_seq AS seq, r.run_key AS runKey, r.run_id AS runId,
         r.workspace_key AS workspaceKey, w.workspace_id AS workspaceId, r.finished_at AS finishedAt,
         r.first_entry_id AS firstEntryId, r.entries, r.previous_digest AS previousDigest, r.digest, r.kind, r.slot,
         r.from_period AS fromPeriod, r.to_period AS toPeriod, r.fencing_token AS fencingToken,
         r.last_change_seq AS lastChangeSeq
       FROM runs r CROSS JOIN workspaces w USING (workspace_key)
       WHERE r.applied_seq IS NOT NULL ORDER BY r.applied_seq`,
    )
    .iterate() as IterableIterator<ChainRun>;
}

function* readEvents(connection: LedgerDb): Generator<ChainEvent, void> {
  const rows = connection
    .prepare(
      `SELECT e.event_seq AS eventSeq, e.action, w.workspace_id AS workspaceId, p.period, e.at, e.actor, e.note,
         e.forced, e.overridden, e.tenants, e.credits_used AS creditsUsed, e.request_count AS requestCount,
         e.last_entry_id AS lastEntryId, e.previous_digest AS previousDigest, e.digest,
         e.system_user AS systemUser
       FROM period_events e CROSS JOIN workspaces w USING (workspace_key) CROSS JOIN periods p USING (period_key)
       ORDER BY e.event_seq`,
    )
    .safeIntegers()
    .iterate() as IterableIterator<Record<string, bigint | string>>;
  for (const row of rows) {
    yield {
      ...(row as unknown as PeriodEventDigestContent & { digest: string }),
      type: 'event',
      seq: Number(row.eventSeq),
      eventSeq: Number(row.eventSeq),
      forced: Number(row.forced),
      lastEntryId: Number(row.lastEntryId),
    };
  }
}

function* readActs(connection: LedgerDb): Generator<ChainAct, void> {
  yield* connection
    .prepare(
      `SELECT 'act' AS type, e.act_seq AS seq, e.act_seq AS actSeq, e.action, w.workspace_id AS workspaceId, e.at, e.actor,
         e.note, e.previous_digest AS previousDigest, e.digest, e.last_change_seq AS lastChangeSeq
       FROM acts e CROSS JOIN workspaces w USING (workspace_key) ORDER BY e.act_seq`,
    )
    .iterate() as IterableIterator<ChainAct>;
}
