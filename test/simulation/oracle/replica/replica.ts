import { minutes, PromiseBroken } from '../fault.ts';
import type { LedgerView } from '../ledger-view.ts';
import { type Contents, firstDifference, type HeldLedger, sameContents } from './contents.ts';

const MINUTE_MS = 60_000;
/** As configured. */
const STALE_MS = 30 * MINUTE_MS;
/** A publisher looks every so often, waits for up to five minutes after a failure, and asks some hundred questions. */
const SLACK_MS = 25 * MINUTE_MS;

const HEAD = `SELECT max(coalesce((SELECT max(applied_seq) FROM runs), 0), coalesce((SELECT max(event_seq) FROM period_events), 0),
  coalesce((SELECT max(end_seq) FROM workspace_ends), 0))`;
const DIGEST = `SELECT digest FROM (SELECT applied_seq AS seq, digest FROM runs WHERE applied_seq IS NOT NULL
  UNION ALL SELECT event_seq, digest FROM period_events UNION ALL SELECT end_seq, digest FROM workspace_ends) WHERE seq = ?`;
const OPEN_ALERTS = `SELECT count(*) FROM finance_alerts
  WHERE rule = 'job_failed' AND cause = 'replica' AND state IN ('firing', 'acknowledged')`;

/** What `/readyz` of one daemon says of the replica. */
export interface SaidOfReplica {
  position: number | null;
  lag_links: number;
  stale: boolean;
}

/** What is known when somebody is asked. */
export interface ReplicaMoment {
  nowMs: number;
  /** Since when nothing has been wrong with the server, its rows, and who publishes to it; infinite while something is. */
  wellSinceMs: number;
  /** Since when whoever is asked could have published. */
  fitSinceMs: number;
  /** By how much looks at what is due may be later than is usual. */
  lateMs: number;
}

/** What the replica shows of one ledger is what that ledger was at one moment, and how late that is, is said. */
export class ReplicaOracle {
  /** What the ledger was while a transaction has been under way. */
  #moments: { contents: Contents; atMs: number }[] = [];
  #asOfMs = 0;
  #held: HeldLedger | null = null;
  #mostHeld = 0n;
  #head = 0n;
  /** The heads that the ledger has had and the replica has not. */
  #links: { head: bigint; sinceMs: number }[] = [];

  /** After a commit to the ledger. */
  noteHead(ledger: LedgerView, nowMs: number): void {
    const head = ledger.value<bigint>(HEAD);
    if (head > this.#head) this.#links.push({ head, sinceMs: nowMs });
    this.#head = head;
  }

  /** While somebody has a transaction of the replica under way: any of these may be what is published. */
  noteMoment(contents: Contents, atMs: number): void {
    this.#moments.push({ contents, atMs });
  }

  /** Nothing is under way any more. */
  forgetMoments(): void {
    this.#moments = [];
  }

  /** Somebody has taken everything away: who publishes notices when there is something new. */
  noteEmptied(): void {
    this.#held = null;
    this.#links = [];
  }

  /**
   * After a commit to the replica. `isEdited`: somebody has put other rows there. Returns whether something new is published that is
   * as the ledger was.
   */
  check(ledger: LedgerView, held: HeldLedger | null, isEdited: boolean): boolean {
    const before = this.#held;
    this.#held = held;
    if (held !== null && held.position > this.#mostHeld) this.#mostHeld = held.position;
    this.#links = this.#links.filter((link) => link.head > (held?.position ?? 0n));
    const isSame = held === null ? before === null : before !== null && sameContents(before.contents, held.contents);
    const moment =
      held === null ? undefined : this.#moments.findLast((one) => sameContents(one.contents, held.contents));
    if (moment === undefined) {
      if (isSame || isEdited) return false;
      const last = this.#moments.at(-1);
      const difference = held === null ? 'nothing is there' : last && firstDifference(last.contents, held.contents);
      throw new PromiseBroken('the replica is as the ledger was at one moment', difference ?? 'nobody has published');
    }
    if (held !== null) checkHead(ledger, held);
    this.#asOfMs = moment.atMs;
    return !isSame;
  }

  /** The last moment of which the replica is known to have had everything. */
  get asOfMs(): number {
    return this.#asOfMs;
  }

  /** What the replica has otherwise than the ledger has it now, in words; null when that is nothing. */
  whatIsMissing(contents: Contents): string | null {
    return this.#held === null ? 'nothing was published' : firstDifference(contents, this.#held.contents);
  }

  /** Whether the replica has nothing of the ledger. */
  get holdsNothing(): boolean {
    return this.#held === null;
  }

  /** What a daemon says that is up, with a clock that is right. */
  checkSaid(said: SaidOfReplica | undefined, moment: ReplicaMoment): void {
    if (said === undefined) throw new PromiseBroken('a replica is said to be there', 'nothing is said of it');
    const position = BigInt(said.position ?? 0);
    if (position > this.#mostHeld || position > this.#head)
      throw new PromiseBroken('the replica is never said to be ahead', `${position}, it held ${this.#mostHeld}`);
    const waits = said.position === null ? 0n : this.#head - position;
    if (BigInt(said.lag_links) !== waits)
      throw new PromiseBroken('what waits for the replica is counted', `${said.lag_links} links instead of ${waits}`);
    const { nowMs, fitSinceMs, wellSinceMs, lateMs } = moment;
    const lateForMs = nowMs - Math.max(this.#behindSinceMs, fitSinceMs);
    if (!said.stale && lateForMs > STALE_MS + SLACK_MS + 2 * lateMs)
      throw new PromiseBroken('a late replica is said to be', `it has been for ${minutes(lateForMs)} minutes`);
    const idleMs = nowMs - Math.max(wellSinceMs, fitSinceMs);
    if (said.stale && idleMs > 2 * SLACK_MS + 2 * lateMs)
      throw new PromiseBroken('only a late replica is said to be', `all was well for ${minutes(idleMs)} minutes`);
  }

  /** Every now and then: what can be published is, and who waits for long hears of it. */
  checkDue(ledger: LedgerView, { nowMs, fitSinceMs, wellSinceMs, lateMs }: ReplicaMoment): void {
    const possibleMs = Math.max(wellSinceMs, fitSinceMs);
    const dueMs = nowMs - Math.max(possibleMs, this.#behindSinceMs);
    if (dueMs > SLACK_MS + 2 * lateMs)
      throw new PromiseBroken('what is written is published', `nothing was in the way for ${minutes(dueMs)} minutes`);
    const isTold = ledger.value<bigint>(OPEN_ALERTS) > 0n;
    const lateForMs = nowMs - Math.max(this.#behindSinceMs, fitSinceMs);
    // A look finds it late, the next one tries once more, and the one after that tells.
    if (!isTold && lateForMs > STALE_MS + SLACK_MS + 3 * lateMs)
      throw new PromiseBroken('a late replica is told', `it has been for ${minutes(lateForMs)} minutes`);
    const idleMs = nowMs - possibleMs;
    if (isTold && idleMs > 2 * SLACK_MS + 2 * lateMs)
      throw new PromiseBroken('the end of a late replica is told', `all was well for ${minutes(idleMs)} minutes`);
  }

  /** Since when the first link has waited that the replica lacks; infinite when it lacks none. */
  get #behindSinceMs(): number {
    const position = this.#held?.position ?? 0n;
    return this.#links.find(({ head }) => head > position)?.sinceMs ?? Number.POSITIVE_INFINITY;
  }
}

/** The head that the replica names is the link of its last row. */
function checkHead(ledger: LedgerView, { position, headDigest }: HeldLedger): void {
  if (position === 0n) return;
  const digest = ledger.value<string | undefined>(DIGEST, position);
  if (digest !== headDigest)
    throw new PromiseBroken(
      'the replica names the head that it has',
      `link ${position} is ${digest}, not ${headDigest}`,
    );
}
