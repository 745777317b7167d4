import { closeSync, existsSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { type Clock, isoTime, sleep } from '../../../core/clock.ts';
import type { ConfigFault } from '../../../core/errors.ts';
import { lockFile } from '../../../core/process/lock-file.ts';
import { isStillRunning, type ProcessIdentity, thisProcess } from '../../../core/process/process-liveness.ts';
import type { LedgerDb } from '../ledger-db.ts';
import { prepareLedgerFolder } from './open.ts';
import { LedgerError } from './sqlite-errors.ts';

const LOCK_POLL_MS = 20;
/**
 * How long to wait for the lock if no daemon is known to be stopping: after a daemon was killed, the system frees its
 * lock a moment later.
 */
const KILLED_LOCK_GRACE_MS = 300;
/** How long to wait for a daemon that is stopping, which takes up to 19 s. */
const DAEMON_STOP_TIMEOUT_MS = 22_000;

/** The configuration a daemon is running with. */
export interface ConfigurationStatus {
  /** Number of times that the daemon has tried to read the configuration file since its start. */
  reads: number;
  /** The time at which the active configuration was read, an ISO time. */
  readAt: string;
  /** When and why the latest configuration was rejected; null when the latest configuration is active. */
  refused: { at: string; faults: readonly ConfigFault[] } | null;
  /** Changed settings that take effect only after a restart. */
  needsRestart: readonly string[];
}

/** The process that holds the daemon lock, as that process describes itself in the notice file. */
export interface DaemonNotice extends ProcessIdentity {
  since: string;
  stopping: boolean;
  configuration: ConfigurationStatus;
}

/**
 * Locks the ledger for this daemon; only one daemon can hold the lock. The system frees the lock when the process ends,
 * however it ends. Waits for a daemon that is stopping; returns null when `signal` aborts meanwhile. Throws LedgerError
 * `daemon_running` within a second while another daemon keeps running.
 */
export async function lockForDaemon(
  { path: ledgerPath, readerGroup }: { path: string; readerGroup?: string },
  clock: Clock,
  signal: AbortSignal,
): Promise<DaemonLock | null> {
  prepareLedgerFolder(ledgerPath, readerGroup);
  const file = `${ledgerPath}.daemon`;
  if (!existsSync(file)) closeSync(openSync(file, 'a', 0o600));
  const began = clock.monotonic();
  while (!signal.aborted) {
    const held = lockFile(file, 0);
    if (held !== null) return new DaemonLock(held, noticePathOf(ledgerPath), isoTime(clock.now()));
    const holder = findRunningDaemon(ledgerPath);
    const waitMs = holder?.stopping === true ? DAEMON_STOP_TIMEOUT_MS : KILLED_LOCK_GRACE_MS;
    if (clock.monotonic() - began >= waitMs) throw daemonRunningError(ledgerPath, holder);
    await sleep(clock, LOCK_POLL_MS, signal).catch(() => undefined);
  }
  return null;
}

export class DaemonLock {
  readonly #held: LedgerDb;
  readonly #noticePath: string;
  readonly #since: string;
  #stopping = false;
  #configuration: ConfigurationStatus;

  constructor(held: LedgerDb, noticePath: string, since: string) {
    this.#held = held;
    this.#noticePath = noticePath;
    this.#since = since;
    this.#configuration = { reads: 0, readAt: since, refused: null, needsRestart: [] };
    this.#writeNotice();
  }

  get configuration(): ConfigurationStatus {
    return this.#configuration;
  }

  /**
   * Writes the outcome of a configuration read into the notice file, where the commands `status` and `reload` read it.
   */
  publishConfiguration(notice: ConfigurationStatus): void {
    this.#configuration = notice;
    if (this.#held.open) this.#writeNotice();
  }

  /** Records that this daemon is stopping, so that the next daemon waits for its lock instead of failing. */
  announceStop(): void {
    this.#stopping = true;
    if (this.#held.open) this.#writeNotice();
  }

  release(): void {
    if (this.#held.open) rmSync(this.#noticePath, { force: true });
    this.#held.close();
  }

  #writeNotice(): void {
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
      // A full disk must not stop a daemon from taking the lock. Without a notice, the next daemon can only report
      // "another process".
    }
  }
}

/** Returns the path of the notice file. It is not the lock file, because a locked file cannot be read. */
function noticePathOf(ledgerPath: string): string {
  return `${ledgerPath}.daemon.json`;
}

/** Returns the daemon of a ledger; null when no running process has recorded that it holds the lock. */
export function findRunningDaemon(ledgerPath: string): DaemonNotice | null {
  try {
    const holder = JSON.parse(readFileSync(noticePathOf(ledgerPath), 'utf8')) as DaemonNotice;
    // A process in another container cannot be checked from here, so it counts as running.
    const mayRun = holder.host !== thisProcess().host || isStillRunning(holder.pid, holder.start);
    return mayRun ? holder : null;
  } catch {
    return null;
  }
}

function daemonRunningError(ledgerPath: string, holder: DaemonNotice | null): LedgerError {
  if (holder === null) {
    return new LedgerError('daemon_running', `another process is running as the daemon of ${ledgerPath}`, {
      hint: 'stop that process first, or give this daemon another ledger.path',
    });
  }
  const { host, pid, since } = holder;
  const where = host === thisProcess().host ? '' : ` on ${host}`;
  return new LedgerError(
    'daemon_running',
    `process ${pid}${where} has been the daemon of ${ledgerPath} since ${since}`,
    {
      hint: `stop that process first (\`npx pm2 stop usage-ledger\`, or \`kill ${pid}\`), or give this daemon another ledger.path`,
    },
  );
}
