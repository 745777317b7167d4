import type { Attempt, Receiver } from '../world/receiver.ts';
import { PromiseBroken } from './fault.ts';
import type { LedgerView } from './ledger-view.ts';
import { type Message, wordsIn } from './messages.ts';

/** As documented: the waits after the first failures; the last one repeats. */
const WAITS_MS = [5, 15, 60, 300, 900, 3_600, 10_800, 21_600].map((seconds) => seconds * 1000);
/** Each wait is shorter by up to a fifth. */
const SHORTEST = 0.8;
/** A sender that dies leaves its claim behind for so long. */
const CLAIM_MS = 60_000;
/** Looks at what is due come every seven minutes at the latest, and several messages may wait for their turn. */
const SLACK_MS = 25 * 60_000;
const GIVEN_UP_MS = 50 * 3_600_000;
const DAY_MS = 86_400_000;
/** Who has heard so many messages of one rule and workspace within a day, or a group, hears of more a day after the last. */
const CROWD = 5;
/** What a sender takes for the last day is by so much more than that, at most: it writes down what it knows of. */
const CROWD_SLACK_MS = 3_600_000;

interface Row {
  notification_id: string;
  channel: string;
  state: string;
  attempts: bigint;
  attempts_before: bigint;
  payload: string;
}

/** What is known of one message that waits. */
interface Waiting {
  channel: string;
  sinceMs: number;
  failures: number;
  /** When the last of them was written down. */
  failedMs: number;
  /** Whether every clock was right then. */
  dated: boolean;
  /** How long it may wait for others before it is tried at all. */
  gatheredMs: number;
  last: Attempt | null;
}

export interface DeliveriesMoment {
  nowMs: number;
  clocksRightSinceMs: number;
  /** Since when some daemon could have sent what is due. */
  someoneFitSinceMs: number;
  /** Since when a channel is configured; infinite while it is not. */
  servedSinceMs(channel: string): number;
}

const COLUMNS = 'notification_id, channel, state, attempts, attempts_before, payload';
const PENDING = `SELECT ${COLUMNS} FROM outbox WHERE state = 'pending'`;
const ONE = `SELECT ${COLUMNS} FROM outbox WHERE notification_id = ?`;

/** Each message is handed over by one sender at a time, again and again as documented, until its receiver has said yes, and then no more. */
export class DeliveriesOracle {
  readonly #slackMs: number;
  readonly #receivers: ReadonlyMap<string, Receiver>;
  readonly #waiting = new Map<string, Waiting>();
  /** When a message was written down, by the world's time, in whichever ledger. */
  readonly #made: Map<string, number>;
  readonly #accepted = new Set<string>();
  readonly #rejected = new Set<string>();
  readonly #delivered = new Set<string>();
  readonly #seen = new Map<string, number>();

  /** `lateMs`: by how much looks at what is due may be later than is usual. */
  constructor(receivers: readonly Receiver[], made: Map<string, number>, lateMs: number) {
    this.#made = made;
    this.#slackMs = SLACK_MS + lateMs;
    this.#receivers = new Map(receivers.map((receiver) => [receiver.name, receiver]));
  }

  /** Of every attempt, as soon as it was made. */
  checkAttempts({ nowMs, clocksRightSinceMs }: DeliveriesMoment): void {
    for (const { name, attempts } of this.#receivers.values()) {
      for (const attempt of attempts.slice(this.#seen.get(name) ?? 0)) {
        const { notificationId, outcome, atMs } = attempt;
        if (this.#delivered.has(notificationId))
          throw new PromiseBroken('what was delivered is not sent again', `${notificationId} to ${name}`);
        if (outcome === 'delivered') this.#accepted.add(notificationId);
        if (outcome === 'rejected') this.#rejected.add(notificationId);
        const waiting = this.#waiting.get(notificationId);
        if (waiting === undefined) continue;
        // A clock that is put right in the same moment was wrong when the last attempt began.
        if (clocksRightSinceMs < (waiting.last?.atMs ?? nowMs)) checkTiming(attempt, waiting, atMs);
        waiting.last = attempt;
      }
      this.#seen.set(name, attempts.length);
    }
  }

  /** After every commit. */
  check(ledger: LedgerView, { nowMs, clocksRightSinceMs, servedSinceMs }: DeliveriesMoment): void {
    const dated = clocksRightSinceMs <= nowMs;
    const pending = new Set<string>();
    for (const { notification_id, channel, attempts, attempts_before, payload } of ledger.all<Row>(PENDING)) {
      pending.add(notification_id);
      const failures = Number(attempts - attempts_before);
      const known = this.#waiting.get(notification_id);
      if (known === undefined) {
        this.#delivered.delete(notification_id);
        if (!this.#made.has(notification_id)) this.#made.set(notification_id, nowMs);
        const heard = this.#receivers.get(channel)?.attempts ?? [];
        const recent = heard.filter(({ atMs }) => !dated || atMs > nowMs - DAY_MS - CROWD_SLACK_MS);
        const gatheredMs = isOfCrowd(payload, recent) ? DAY_MS : 0;
        const times = { sinceMs: nowMs, failedMs: nowMs, gatheredMs };
        this.#waiting.set(notification_id, { channel, ...times, failures, dated, last: null });
      } else if (known.failures !== failures) Object.assign(known, { failures, failedMs: nowMs, dated });
    }
    for (const [id, { sinceMs }] of this.#waiting) {
      if (pending.has(id)) continue;
      this.#waiting.delete(id);
      const [row] = ledger.all<Row>(ONE, id);
      if (row?.state === 'delivered') {
        if (!this.#accepted.has(id))
          throw new PromiseBroken('delivered is what its receiver has taken', `${id} to ${row.channel}`);
        this.#delivered.add(id);
      }
      // A channel that the configuration no longer has is given up at once.
      const isServed = row !== undefined && servedSinceMs(row.channel) <= nowMs;
      if (row?.state === 'dead' && isServed && !this.#rejected.has(id) && nowMs - sinceMs < GIVEN_UP_MS)
        throw new PromiseBroken('what may arrive later is tried for three days', `${id} to ${row.channel}`);
    }
  }

  /** Every now and then: what is due is sent once somebody can. */
  checkDue({ nowMs, someoneFitSinceMs, clocksRightSinceMs, servedSinceMs }: DeliveriesMoment): void {
    for (const [id, waiting] of this.#waiting) {
      const { channel, sinceMs, failures, failedMs, dated, last } = waiting;
      // A message that takes the place of one which failed waits as that one would have.
      const waitMs = last === null ? waitOf(waiting) : Math.max(waitAfter(Math.max(1, failures)), last.retryAfterMs);
      // A sender that was frozen writes a failure down once it wakes. A wait whose begin was written down by a clock that
      // was ahead is over when it would be from now on.
      const beganMs = Math.max(last?.endsMs ?? sinceMs, failedMs, dated ? 0 : clocksRightSinceMs);
      const dueMs = Math.max(beganMs + waitMs, someoneFitSinceMs, servedSinceMs(channel));
      if (nowMs - dueMs <= this.#slackMs) continue;
      throw new PromiseBroken('what is due is sent', `${id} has been due since ${new Date(dueMs).toISOString()}`);
    }
  }

  /** Whether nothing waits that is due soon. */
  isDone({ nowMs, servedSinceMs }: Pick<DeliveriesMoment, 'nowMs' | 'servedSinceMs'>): boolean {
    const served = [...this.#waiting.values()].filter(({ channel }) => servedSinceMs(channel) <= nowMs);
    return served.every((waiting) => waiting.failedMs + waitOf(waiting) > nowMs + 7_200_000);
  }

  /** Everything that this receiver was to hear, it has heard. */
  hasAll(name: string, ledger: LedgerView): boolean {
    return (
      ledger.value<bigint>("SELECT count(*) FROM outbox WHERE channel = ? AND state IN ('pending', 'dead')", name) ===
      0n
    );
  }
}

/** How long it waits from when it was written down, or from the last failure. */
function waitOf({ failures, gatheredMs }: Waiting): number {
  return failures === 0 ? gatheredMs : waitAfter(failures);
}

/** Whether its receiver has heard of so many others that it may wait for more of them. */
function isOfCrowd(payload: string, heard: readonly Attempt[]): boolean {
  const [word] = wordsIn(payload);
  if (word?.tenant_id == null) return false;
  const own = kindOf(word);
  const messages = new Map(heard.map(({ notificationId, payload }) => [notificationId, wordsIn(payload).map(kindOf)]));
  const kin = [...messages.values()].filter((kinds) => kinds.includes(own));
  return kin.length >= CROWD || kin.some((kinds) => kinds.length > 1);
}

function kindOf({ rule, workspace_id }: Message): string {
  return `${rule} ${workspace_id}`;
}

function waitAfter(failures: number): number {
  return failures === 0 ? 0 : (WAITS_MS[failures - 1] ?? WAITS_MS.at(-1) ?? 0);
}

function checkTiming({ notificationId }: Attempt, { last, failures, failedMs }: Waiting, atMs: number): void {
  if (last === null) return;
  if (atMs < Math.min(last.endsMs, last.atMs + CLAIM_MS))
    throw new PromiseBroken('one sender has a message in hand', notificationId);
  // Of an attempt whose sender died nothing was written down.
  if (failures === 0 || failedMs < last.endsMs || last.outcome !== 'retry') return;
  const waitMs = Math.max(SHORTEST * waitAfter(failures), last.retryAfterMs);
  if (atMs < failedMs + waitMs - 1_000)
    throw new PromiseBroken('nobody is asked again before the documented wait', `${notificationId} after ${failures}`);
}
