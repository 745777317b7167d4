import { closeSync, existsSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { type Clock, isoTime, sleep } from '../../../core/clock.ts';
import type { ConfigFault } from '../../../core/errors.ts';
import { lockFile } from '../../../core/process/lock-file.ts';
import { isStillRunning, type ProcessIdentity, thisProcess } from '../../../core/process/process-liveness.ts';
import type { LedgerDb } from '../ledger-db.ts';
import { preparePlace } from './open.ts';
import { LedgerError } from './sqlite-errors.ts';

const RETRY_MS = 20;
/** The system frees the lock of a process that was killed a moment after the signal. */
const BRIEF_MS = 300;
/** A daemon that stops takes up to 19 s. */
const DRAIN_MS = 22_000;

/** What a daemon says of the configuration that it works by. */
export interface ConfigurationNotice {
  /** How often it was to read it since its start. */
  reads: number;
  /** When the one that counts was read, an ISO time. */
  readAt: string;
  /** Why the last one that was read does not count. */
  refused: { at: string; faults: readonly ConfigFault[] } | null;
  /** Settings of it that count from the next start on. */
  needsRestart: readonly string[];
}

/** The process that has the lock, as it says itself. */
export interface DaemonNotice extends ProcessIdentity {
  since: string;
  stopping: boolean;
  configuration: ConfigurationNotice;
}

/**
 * Takes the ledger for the one daemon that may have it. The system frees it with the process, however that ends. Waits
 * for a daemon that is stopping; null when `signal` aborts meanwhile. Throws LedgerError `daemon_running` within a
 * second while another daemon goes on.
 */
export async function lockForDaemon(
  { path: ledgerPath, readerGroup }: { path: string; readerGroup?: string },
  clock: Clock,
  signal: AbortSignal,
): Promise<DaemonLock | null> {
  preparePlace(ledgerPath, readerGroup);
  const file = `${ledgerPath}.daemon`;
  if (!existsSync(file)) closeSync(openSync(file, 'a', 0o600));
  const began = clock.monotonic();
  while (!signal.aborted) {
    const held = lockFile(file, 0);
    if (held !== null) return new DaemonLock(held, noticeOf(ledgerPath), isoTime(clock.now()));
    const holder = daemonOf(ledgerPath);
    const waitMs = holder?.stopping === true ? DRAIN_MS : BRIEF_MS;
    if (clock.monotonic() - began >= waitMs) throw inUse(ledgerPath, holder);
    await sleep(clock, RETRY_MS, signal).catch(() => undefined);
  }
  return null;
}

export class DaemonLock {
  readonly #held: LedgerDb;
  readonly #noticePath: string;
  readonly #since: string;
  #stopping = false;
  #configuration: ConfigurationNotice;

  constructor(held: LedgerDb, noticePath: string, since: string) {
    this.#held = held;
    this.#noticePath = noticePath;
    this.#since = since;
    this.#configuration = { reads: 0, readAt: since, refused: null, needsRestart: [] };
    this.#say();
  }

  get configuration(): ConfigurationNotice {
    return this.#configuration;
  }

  /** Tells `status` and `reload` what came of a configuration that was read. */
  noteConfiguration(notice: ConfigurationNotice): void {
    this.#configuration = notice;
    if (this.#held.open) this.#say();
  }

  /** From now on the next daemon waits for the end of this one. */
  stopping(): void {
    this.#stopping = true;
    if (this.#held.open) this.#say();
  }

  release(): void {
    if (this.#held.open) rmSync(this.#noticePath, { force: true });
    this.#held.close();
  }

  #say(): void {
    const holder: DaemonNotice = {
      ...thisProcess(),
      since: this.#since,
      stopping: this.#stopping,
      configuration: this.#configuration,
    };
    try {
      writeFileSync(`${this.#noticePath}.new`, JSON.stringify(holder), { mode: 0o600 });
      renameSync(`${this.#noticePath}.new`, this.#noticePath);
    } catch {
      // A full disk keeps nobody from the lock: the next daemon is then told of "another process".
    }
  }
}

/** A file that is held cannot be read, so that what its holder says stands beside it. */
function noticeOf(ledgerPath: string): string {
  return `${ledgerPath}.daemon.json`;
}

/** The daemon of a ledger; null when nobody who runs has said that it has the lock. */
export function daemonOf(ledgerPath: string): DaemonNotice | null {
  try {
    const holder = JSON.parse(readFileSync(noticeOf(ledgerPath), 'utf8')) as DaemonNotice;
    // Of a process in another container nothing can be said from here.
    const mayRun = holder.host !== thisProcess().host || isStillRunning(holder.pid, holder.start);
    return mayRun ? holder : null;
  } catch {
    return null;
  }
}

function inUse(ledgerPath: string, holder: DaemonNotice | null): LedgerError {
  if (holder === null) {
    return new LedgerError('daemon_running', `another process is the daemon of ${ledgerPath}`, {
      hint: 'stop it first, or give this daemon another ledger.path',
    });
  }
  const { host, pid, since } = holder;
  const where = host === thisProcess().host ? '' : ` on ${host}`;
  return new LedgerError(
    'daemon_running',
    `process ${pid}${where} has been the daemon of ${ledgerPath} since ${since}`,
    {
      hint: `stop that one first (\`npx pm2 stop usage-ledger\`, or \`kill ${pid}\`), or give this daemon another ledger.path`,
    },
  );
}
