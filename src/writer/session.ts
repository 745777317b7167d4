import type { ChannelRoute } from '../alerts/pipeline/route.ts';
import { isoTime } from '../core/clock.ts';
import { type PackedError, packError } from '../core/errors.ts';
import { createRedactor, type Redactor } from '../core/text/redact.ts';
import { CheckpointLog, checkpointKeyPath, deriveLinkSecret } from '../ledger/audit/anchor/checkpoint-log.ts';
import type { ClaimedRun, LeaseHolder } from '../ledger/journal/runs/claim-run.ts';
import type { RunStaging } from '../ledger/journal/staging/staging.ts';
import { closeForWriting, openForWriting } from '../ledger/store/file/open.ts';
import { toLedgerError } from '../ledger/store/file/sqlite-errors.ts';
import type { LedgerDb } from '../ledger/store/ledger-db.ts';
import { ledgerId } from '../ledger/store/schema/identity.ts';
import { type MigrationReport, migrateLedger } from '../ledger/store/schema/migrate.ts';

/** What a writer needs to open a ledger. */
export interface WriterOptions {
  /** Path of the ledger file. */
  path: string;
  version: string;
  nowMs: number;
  /** The id that a newly created ledger gets; random when absent. */
  newLedgerId?: string;
  /** Texts that errors must not contain, even when the service sends them. */
  secrets?: readonly string[];
  /** Path of the key that signs checkpoints; when absent, the key is next to the ledger. */
  checkpointKeyFile?: string | undefined;
  /** The channels of this process, which receive its notifications. */
  routes?: readonly ChannelRoute[];
  /** The group of users that may read the ledger; when absent, only the owner of the file may. */
  readerGroup?: string | undefined;
}

/** The state that commands share: the connection that writes, and everything that is kept until it closes. */
export interface Session {
  readonly connection: LedgerDb;
  /** The channels of this process. The process that evaluates an alert notifies its own channels. */
  routes: readonly ChannelRoute[];
  /** Removes secrets from a page's content before it becomes part of an error. */
  redact: Redactor;
  /** The log of signed head digests; null when none is written. */
  readonly checkpoints: CheckpointLog | null;
  /** Path of the key that signs checkpoints and the URLs in notifications; null when nothing is signed. */
  readonly keyFile: string | null;
  readonly claimant: LeaseHolder;
  readonly runs: Map<number, OpenRun>;
}

/** A run in progress, with the records that it has staged. */
export interface OpenRun {
  run: ClaimedRun;
  staging: RunStaging;
}

/**
 * An operation that writes to the ledger. Commands run one at a time. Arguments and results cross threads, so they are
 * plain data. The arguments include the time, because only the caller reads the clock.
 */
export type Command<Args, Result> = (session: Session, args: Args) => Result;

/** Makes a command from a function that needs the connection only. */
export function onConnection<Args, Result>(work: (connection: LedgerDb, args: Args) => Result): Command<Args, Result> {
  return ({ connection }, args) => work(connection, args);
}

/** Part of the result of a command that adds a link to the chain. */
export interface WithCheckpoint {
  /** Why the checkpoint for the new link of the chain was not written; null if it was written. */
  checkpointFault: string | null;
}

/** Appends a signed checkpoint of a committed head digest to the checkpoint log. */
export function recordHead({ checkpoints }: Session, seq: number, digest: string, nowMs: number): WithCheckpoint {
  return { checkpointFault: checkpoints?.note({ seq, digest, at: isoTime(nowMs) }) ?? null };
}

export function openSession(
  start: WriterOptions,
  claimant: LeaseHolder = {},
): { session: Session; migration: MigrationReport } {
  const connection = openForWriting(start.path, start.readerGroup);
  try {
    connection.pragma('cache_size = -32768');
    connection.pragma('temp_store = MEMORY');
    connection.pragma('journal_size_limit = 16777216');
    const migration = migrateLedger(connection, start.path, start.version, start.nowMs, start.newLedgerId);
    const keyFile = start.checkpointKeyFile ?? checkpointKeyPath(start.path);
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

/** Adds the key that signs links to the routes whose notifications link to the web pages. */
function withSigningKeys(routes: readonly ChannelRoute[], keyFile: string): ChannelRoute[] {
  return routes.map((route) => {
    const linkKey = route.publicUrl === undefined ? null : deriveLinkSecret(keyFile);
    return linkKey === null ? route : { ...route, linkKey };
  });
}

/** Returns a session for an open ledger, without channels, secrets or checkpoints. */
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
  return packError(toLedgerError(error) ?? error);
}
