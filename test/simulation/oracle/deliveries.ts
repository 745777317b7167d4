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
/** A message that waits for its first attempt for longer is made anew; many before it may take their time. */
const OUTDATED_MS = 3 * 60_000;
/** What a sender takes for the last day is by so much more than that, at most: it writes down what it knows of. */
const CROWD_SLACK_MS = 3_600_000;

interface Row {
  notification_id: string;
  channel: string;
  state: string;
  failures: bigint;
}

/** What a channel is owed of an alert, whether a message says it by now or not. */
interface PendingRow {
  channel: string;
  alert_id: string;
  rule: string;
  workspace_id: string | null;
  tenant_id: string | null;
  pending: string;
  failures: bigint;
  digest: bigint;
  under_way: bigint;
}

/** What is known of one message on its way, or of what a channel is owed of one alert. */
interface Waiting {
  channel: string;
  sinceMs: number;
  failures: number;
  /** When the last of them was written down. */
  failedMs: number;
  /** The documented wait after it. A message that replaces one that failed waits as long as the old one would have. */
  waitMs: number;
  /** Whether every clock was right then. */
  dated: boolean;
  /** How long it may wait for others before it is tried at all. */
  gatheredMs: number;
  last: Attempt | null;
}

interface UnderWay extends Waiting {
  /** When somebody took it in hand; infinite while nobody has. */
  claimedMs: number;
}

interface Pending extends Waiting {
  pending: string;
  /** Since when a message about it is under way; null while none is. */
  underWayMs: number | null;
  /** How many such messages in a row were refused, whatever is written down of them. */
  refusals: number;
}

export interface DeliveriesMoment {
  nowMs: number;
  clocksRightSinceMs: number;
  /** Since when some daemon could have sent what is due. */
  someoneFitSinceMs: number;
  disksWellSinceMs: number;
  /** Since when a channel is configured; infinite while it is not. */
  servedSinceMs(channel: string): number;
  /** Whether a workspace is in this ledger now, or none is meant. */
  isOurs(workspaceId: string | null): boolean;
}

const COLUMNS = 'notification_id, channel, state, failures';
const UNDER_WAY = `SELECT ${COLUMNS} FROM deliveries WHERE state IN ('fresh', 'trying', 'possible')`;
const ONE = `SELECT ${COLUMNS} FROM deliveries WHERE notification_id = ?`;
const REMINDS = `SELECT a.alert_id FROM deliveries d JOIN delivery_members m USING (delivery_key) JOIN alerts a USING (alert_key)
  WHERE d.notification_id = ? AND m.event = 'reminder' AND a.state = 'acknowledged'`;
const PENDING = `SELECT n.channel, a.alert_id, a.rule, w.workspace_id, t.tenant_id, n.pending, n.failures, n.batch IS 'digest' AS digest,
    n.delivery_key IS NOT NULL AS under_way
  FROM alert_notified n JOIN alerts a USING (alert_key) LEFT JOIN workspaces w USING (workspace_key)
  LEFT JOIN tenants t ON t.tenant_key = a.tenant_key WHERE n.pending IS NOT NULL AND n.given_up = 0`;

/**
 * Each message is handed over by one sender at a time, again and again as documented, until its receiver has said yes, and then no
 * more. What was refused for sure comes in a new message after the same wait, and what may have arrived only under the same id; of
 * one alert one message goes after the other. What is owed is written and sent in time.
 */
export class DeliveriesOracle {
  readonly #slackMs: number;
  readonly #receivers: ReadonlyMap<string, Receiver>;
  /** The messages under way, by their ids. */
  readonly #waiting = new Map<string, UnderWay>();
  /** By channel and alert. */
  readonly #pending = new Map<string, Pending>();
  /** When a message was written down, by the world's time, in whichever ledger. */
  readonly #made: Map<string, number>;
  readonly #accepted = new Set<string>();
  readonly #rejected = new Set<string>();
  /** Of these a receiver may have a message that nobody knows of. */
  readonly #possible = new Set<string>();
  readonly #delivered = new Set<string>();
  readonly #seen = new Map<string, number>();

  /** `lateMs`: by how much looks at what is due may be later than is usual. */
  constructor(receivers: readonly Receiver[], made: Map<string, number>, lateMs: number) {
    this.#made = made;
    this.#slackMs = SLACK_MS + lateMs;
    this.#receivers = new Map(receivers.map((receiver) => [receiver.name, receiver]));
  }

  /** Of every attempt, as soon as it was made. */
  checkAttempts({ nowMs, clocksRightSinceMs, disksWellSinceMs }: DeliveriesMoment): void {
    for (const { name, attempts } of this.#receivers.values()) {
      for (const attempt of attempts.slice(this.#seen.get(name) ?? 0)) {
        const { notificationId, outcome, atMs } = attempt;
        if (this.#delivered.has(notificationId))
          throw new PromiseBroken('what was delivered is not sent again', `${notificationId} to ${name}`);
        if (outcome === 'delivered') this.#accepted.add(notificationId);
        if (outcome === 'rejected') this.#rejected.add(notificationId);
        if (attempt.mayHaveArrived) this.#possible.add(notificationId);
        for (const alertId of alertsIn(attempt.payload)) {
          const pending = this.#pending.get(`${name} ${alertId}`);
          if (pending === undefined) continue;
          if (pending.last !== null && pending.last.notificationId !== notificationId)
            checkNext(attempt, pending, clocksRightSinceMs < pending.last.atMs);
          pending.last = attempt;
        }
        // One that was made just now was not seen yet.
        const waiting = this.#waiting.get(notificationId);
        if (waiting === undefined) continue;
        // What a sender that died had in hand may have arrived.
        const madeMs = waiting.last === null && waiting.claimedMs > nowMs - CLAIM_MS ? waiting.sinceMs : nowMs;
        const isPrompt = attempt.isPrompt && Math.max(clocksRightSinceMs, disksWellSinceMs) <= madeMs;
        if (isPrompt && atMs - madeMs > OUTDATED_MS)
          throw new PromiseBroken(
            'what is sent is true when it is sent',
            `${notificationId} is ${atMs - madeMs} ms old`,
          );
        // A clock that is put right in the same moment was wrong when the last attempt began.
        if (clocksRightSinceMs < (waiting.last?.atMs ?? nowMs)) checkTiming(attempt, waiting, atMs);
        waiting.last = attempt;
      }
      this.#seen.set(name, attempts.length);
    }
  }

  /** After every commit. */
  check(ledger: LedgerView, moment: DeliveriesMoment): void {
    const { nowMs, clocksRightSinceMs } = moment;
    const dated = clocksRightSinceMs <= nowMs;
    const times = { sinceMs: nowMs, failedMs: nowMs, dated, gatheredMs: 0, last: null };
    const underWay = new Set<string>();
    for (const { notification_id, channel, state, failures: counted } of ledger.all<Row>(UNDER_WAY)) {
      underWay.add(notification_id);
      const failures = Number(counted);
      const claimedMs = state === 'fresh' ? Number.POSITIVE_INFINITY : nowMs;
      const known = this.#waiting.get(notification_id);
      if (known === undefined) {
        this.#delivered.delete(notification_id);
        if (!this.#made.has(notification_id)) this.#made.set(notification_id, nowMs);
        const [inHand] = ledger.all<{ alert_id: string }>(REMINDS, notification_id);
        if (inHand !== undefined)
          throw new PromiseBroken('nobody is reminded of what is acknowledged', `${inHand.alert_id} to ${channel}`);
        this.#waiting.set(notification_id, { ...times, channel, failures, waitMs: waitAfter(failures), claimedMs });
        continue;
      }
      known.claimedMs = Math.min(known.claimedMs, claimedMs);
      if (known.failures !== failures)
        Object.assign(known, { failures, failedMs: nowMs, waitMs: waitAfter(failures), dated });
    }
    for (const [id, { sinceMs }] of this.#waiting) {
      if (underWay.has(id)) continue;
      this.#waiting.delete(id);
      this.#checkEndedWorkspaces(ledger, id, sinceMs, moment);
    }
    this.#checkOwed(ledger, moment);
  }

  #checkEndedWorkspaces(
    ledger: LedgerView,
    id: string,
    sinceMs: number,
    { nowMs, servedSinceMs, isOurs }: DeliveriesMoment,
  ): void {
    const [row] = ledger.all<Row>(ONE, id);
    if (row?.state === 'delivered') {
      if (!this.#accepted.has(id))
        throw new PromiseBroken('delivered is what its receiver has taken', `${id} to ${row.channel}`);
      this.#delivered.add(id);
    }
    const last = this.#receivers.get(row?.channel ?? '')?.attempts.findLast((one) => one.notificationId === id);
    const isAway = wordsIn(last?.payload ?? '{}').some(({ workspace_id }) => !isOurs(workspace_id ?? null));
    if (row?.state === 'refused' && (this.#accepted.has(id) || this.#possible.has(id)) && !isAway)
      throw new PromiseBroken('what may have arrived keeps its id', `${id} to ${row.channel}`);
    // A channel that the configuration no longer has is given up at once.
    const isServed = row !== undefined && servedSinceMs(row.channel) <= nowMs;
    const beganMs = Math.min(
      sinceMs,
      ...alertsIn(last?.payload ?? '{}').map((alert) => this.#refusedSinceMs(row, alert)),
    );
    if (row?.state === 'dead' && isServed && !this.#rejected.has(id) && nowMs - beganMs < GIVEN_UP_MS)
      throw new PromiseBroken('what may arrive later is tried for three days', `${id} to ${row.channel}`);
  }

  #refusedSinceMs(row: Row | undefined, alertId: string): number {
    return this.#pending.get(`${row?.channel} ${alertId}`)?.sinceMs ?? Number.POSITIVE_INFINITY;
  }

  /** What each channel is pending: since when, and how often it was refused. */
  #checkOwed(ledger: LedgerView, { nowMs, clocksRightSinceMs }: DeliveriesMoment): void {
    const dated = clocksRightSinceMs <= nowMs;
    const rows = new Set<string>();
    for (const row of ledger.all<PendingRow>(PENDING)) {
      const { channel, pending } = row;
      const key = `${channel} ${row.alert_id}`;
      rows.add(key);
      const failures = Number(row.failures);
      const known = this.#pending.get(key);
      if (known === undefined || known.pending !== pending) {
        const heard = this.#receivers.get(channel)?.attempts ?? [];
        const recent = heard.filter(({ atMs }) => !dated || atMs > nowMs - DAY_MS - CROWD_SLACK_MS);
        const gatheredMs = row.digest === 1n || isOfCrowd(row, recent) ? DAY_MS : 0;
        // Something else is owed in its place: its receiver is left alone for as long as before.
        const replaced = failures > 0 ? known : undefined;
        const failedMs = replaced?.failedMs ?? nowMs;
        const waitMs = Math.max(waitAfter(failures), replaced?.waitMs ?? 0);
        const times = { sinceMs: nowMs, failedMs, waitMs, dated, gatheredMs, last: known?.last ?? null };
        const underWayMs = row.under_way === 1n ? nowMs : null;
        const refusals = failures > 0 ? (known?.refusals ?? 0) : 0;
        this.#pending.set(key, { ...times, channel, pending, failures, underWayMs, refusals });
        continue;
      }
      const { underWayMs, last } = known;
      known.underWayMs = row.under_way === 1n ? (underWayMs ?? nowMs) : null;
      const isFreed = underWayMs !== null && known.underWayMs === null;
      if (isFreed && last !== null && last.atMs >= underWayMs && last.isKnown && last.outcome === 'retry')
        known.refusals += 1;
      // Somebody has it tried at once.
      if (failures < known.failures) known.refusals = failures;
      if (known.failures !== failures)
        Object.assign(known, { failures, failedMs: nowMs, waitMs: waitAfter(failures), dated });
      // One that was made and not tried in time is made anew.
      if (isFreed && known.failures === failures) Object.assign(known, { failedMs: nowMs, dated });
    }
    for (const key of this.#pending.keys()) if (!rows.has(key)) this.#pending.delete(key);
  }

  /** Every now and then: what is due is written and sent once somebody can. */
  checkDue(moment: DeliveriesMoment): void {
    for (const [id, waiting] of this.#waiting) this.#checkDueOne(id, waiting, moment);
    for (const [key, pending] of this.#pending)
      if (pending.underWayMs === null) this.#checkDueOne(key, pending, moment);
  }

  #checkDueOne(
    id: string,
    waiting: Waiting,
    { nowMs, someoneFitSinceMs, clocksRightSinceMs, servedSinceMs }: DeliveriesMoment,
  ): void {
    const { channel, sinceMs, failures, failedMs, dated, last } = waiting;
    // A message that takes the place of one which failed waits as that one would have.
    const waitMs = last === null || failures === 0 ? waitOf(waiting) : Math.max(waiting.waitMs, last.retryAfterMs);
    // A sender that was frozen writes a failure down once it wakes. A wait whose begin was written down by a clock that
    // was ahead is over when it would be from when somebody sees that.
    const datedMs = dated ? 0 : Math.max(clocksRightSinceMs, someoneFitSinceMs);
    const beganMs = Math.max(last?.endsMs ?? sinceMs, failedMs, datedMs);
    const dueMs = Math.max(beganMs + waitMs, someoneFitSinceMs, servedSinceMs(channel));
    if (nowMs - dueMs <= this.#slackMs) return;
    throw new PromiseBroken('what is due is sent', `${id} has been due since ${new Date(dueMs).toISOString()}`);
  }

  /** Whether nothing waits that is due soon. */
  isDone({ nowMs, servedSinceMs }: Pick<DeliveriesMoment, 'nowMs' | 'servedSinceMs'>): boolean {
    const served = [...this.#waiting.values(), ...this.#pending.values()].filter(
      ({ channel }) => servedSinceMs(channel) <= nowMs,
    );
    return served.every((waiting) => waiting.failedMs + waitOf(waiting) > nowMs + 7_200_000);
  }

  /** Everything that this receiver was to hear, it has heard. */
  hasAll(name: string, ledger: LedgerView): boolean {
    const underWay = "SELECT 1 FROM deliveries WHERE channel = ? AND state IN ('fresh', 'trying', 'possible', 'dead')";
    // A summary waits for its hour; one that was refused waits for its receiver.
    const waits = "(batch IS NOT 'digest' OR failures > 0)";
    const pending = `SELECT 1 FROM alert_notified WHERE channel = ? AND pending IS NOT NULL AND ${waits}`;
    return ledger.all(`${underWay} UNION ALL ${pending} LIMIT 1`, name, name).length === 0;
  }
}

/** How long it waits from when it was written down, or from the last failure. */
function waitOf({ failures, gatheredMs, waitMs }: Waiting): number {
  return failures === 0 ? gatheredMs : waitMs;
}

/** Whether its receiver has heard of so many others that it may wait for more of them. */
function isOfCrowd(pending: PendingRow, heard: readonly Attempt[]): boolean {
  if (pending.tenant_id === null) return false;
  const own = kindOf(pending);
  const messages = new Map(heard.map(({ notificationId, payload }) => [notificationId, wordsIn(payload).map(kindOf)]));
  const kin = [...messages.values()].filter((kinds) => kinds.includes(own));
  return kin.length >= CROWD || kin.some((kinds) => kinds.length > 1);
}

function alertsIn(payload: string): string[] {
  return wordsIn(payload).flatMap(({ alert_id }) => alert_id ?? []);
}

function kindOf({ rule, workspace_id }: Pick<Message, 'rule' | 'workspace_id'>): string {
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

/** A message about an alert of which another has been tried. */
function checkNext(
  { notificationId, atMs }: Attempt,
  { last, refusals, failedMs, ...pending }: Pending,
  dated: boolean,
): void {
  if (last === null) return;
  if (atMs < last.endsMs)
    throw new PromiseBroken(
      'messages of one alert go one after the other',
      `${notificationId} beside ${last.notificationId}`,
    );
  const failures = Math.max(pending.failures, refusals);
  if (!dated || failures === 0 || failedMs < last.endsMs || last.outcome !== 'retry') return;
  const waitMs = Math.max(SHORTEST * waitAfter(failures), last.retryAfterMs);
  if (atMs < failedMs + waitMs - 1_000)
    throw new PromiseBroken('nobody is asked again before the documented wait', `${notificationId} after ${failures}`);
}
