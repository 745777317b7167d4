import type { ChannelRoute } from '../alerts/pipeline/route.ts';
import { isoTime } from '../core/clock.ts';
import { type PackedError, packError } from '../core/errors.ts';
import { createRedactor, type Redactor } from '../core/text/redact.ts';
import { CheckpointLog, keyFileOf, linkKeyOf } from '../ledger/audit/anchor/checkpoint-log.ts';
import type { ClaimedRun, LeaseHolder } from '../ledger/journal/runs/claim-run.ts';
import type { RunStaging } from '../ledger/journal/staging/staging.ts';
import { closeForWriting, openForWriting } from '../ledger/store/file/open.ts';
import { ledgerErrorOf } from '../ledger/store/file/sqlite-errors.ts';
import type { LedgerDb } from '../ledger/store/ledger-db.ts';
import { ledgerId } from '../ledger/store/schema/identity.ts';
import { type MigrationReport, migrateLedger } from '../ledger/store/schema/migrate.ts';

export interface WriterStart {
  path: string;
  version: string;
  nowMs: number;
  /** Id of a newly created ledger; random when absent. */
  newLedgerId?: string;
  /** Texts that must not appear in errors, even when the service sends them. */
  secrets?: readonly string[];
  /** Path of the key that signs checkpoints; next to the ledger when absent. */
  checkpointKeyFile?: string | undefined;
  /** The channels of this process, which receive its notifications. */
  routes?: readonly ChannelRoute[];
  /** The group that may read the ledger; when absent, only its user may. */
  readerGroup?: string | undefined;
}

/** The state that commands share: the writing connection and everything that lives as long as it does. */
export interface Session {
  readonly connection: LedgerDb;
  /** The channels of this process. The process that evaluates an alert notifies its own channels. */
  routes: readonly ChannelRoute[];
  /** Removes secrets from a page's content before it becomes part of an error. */
  redact: Redactor;
  /** The log of heads; null when heads are not logged. */
  readonly checkpoints: CheckpointLog | null;
  /** Path of the key that signs checkpoints and links. */
  readonly keyFile: string | null;
  readonly claimant: LeaseHolder;
  readonly runs: Map<number, OpenRun>;
}

export interface OpenRun {
  run: ClaimedRun;
  staging: RunStaging;
}

/**
 * An operation that writes to the ledger. Commands run one at a time. Arguments and results cross threads, so they are
 * plain data; they include the time, because the caller owns the clock.
 */
export type Command<Args, Result> = (session: Session, args: Args) => Result;

/** Makes a command from a function that needs the connection only. */
export function onConnection<Args, Result>(work: (connection: LedgerDb, args: Args) => Result): Command<Args, Result> {
  return ({ connection }, args) => work(connection, args);
}

/** Part of the result of a command that adds a link to the chain: why its checkpoint was not written; null if it was. */
export interface WithCheckpoint {
  checkpointFault: string | null;
}

/** Logs a signed checkpoint of a committed head. */
export function recordHead({ checkpoints }: Session, seq: number, digest: string, nowMs: number): WithCheckpoint {
  return { checkpointFault: checkpoints?.note({ seq, digest, at: isoTime(nowMs) }) ?? null };
}

export function openSession(
  start: WriterStart,
  claimant: LeaseHolder = {},
): { session: Session; migration: MigrationReport } {
  const connection = openForWriting(start.path, start.readerGroup);
  try {
    connection.pragma('cache_size = -32768');
    connection.pragma('temp_store = MEMORY');
    connection.pragma('journal_size_limit = 16777216');
    const migration = migrateLedger(connection, start.path, start.version, start.nowMs, start.newLedgerId);
    const keyFile = start.checkpointKeyFile ?? keyFileOf(start.path);
    const routes = withSigningKeys(start.routes ?? [], keyFile);
    const checkpoints = new CheckpointLog(start.path, {
      keyFile,
      ledgerId: ledgerId(connection),
      alone: (work) => connection.transaction(work).immediate(),
    });
    const redact = createRedactor(start.secrets ?? []);
    return {
      session: { ...plainSession(connection), routes, redact, checkpoints, keyFile, claimant },
      migration,
    };
  } catch (error) {
    closeForWriting(connection);
    throw error;
  }
}

/** Applies a reloaded configuration to the session. */
export function reconfigureSession(
  session: Session,
  { routes, secrets }: { routes: readonly ChannelRoute[]; secrets: readonly string[] },
): void {
  session.routes = session.keyFile === null ? routes : withSigningKeys(routes, session.keyFile);
  session.redact = createRedactor(secrets);
}

/** Adds the signing key to routes with links to the web pages. */
function withSigningKeys(routes: readonly ChannelRoute[], keyFile: string): ChannelRoute[] {
  return routes.map((route) => {
    const linkKey = route.publicUrl === undefined ? null : linkKeyOf(keyFile);
    return linkKey === null ? route : { ...route, linkKey };
  });
}

/** Returns a session over an open ledger, without channels, secrets and checkpoints. */
export function plainSession(connection: LedgerDb): Session {
  return {
    connection,
    routes: [],
    redact: (text) => text,
    checkpoints: null,
    keyFile: null,
    claimant: {},
    runs: new Map(),
  };
}

/** Packs an error of the writer for the caller's thread, converting SQLite errors to ledger errors. */
export function packWriterError(error: unknown): PackedError {
  return packError(ledgerErrorOf(error) ?? error);
}
