import type { Received } from '../world/receiver.ts';
import type { SimulatedService } from '../world/service.ts';
import { PromiseBroken } from './fault.ts';
import { isDatedRight, type LastRun, staleAfterMs } from './freshness.ts';
import type { LedgerView } from './ledger-view.ts';
import { isOpenWord, type Listener, lastWords, type Message, takes, wordsIn } from './messages.ts';

/** What is so of a workspace, by the world's time. */
export interface WorkspaceTruth {
  runs: readonly LastRun[];
  pauseMs: number;
  /** Since when nothing keeps it from being read. */
  readableSinceMs: number;
}

/** A look comes late, a message takes its time. */
const SLACK_MS = 15 * 60_000;
/** Whoever was refused is asked again after an hour at the latest. */
const LATEST_RETRY_MS = 70 * 60_000;
/** `remind_after_hours` of the configurations that have it. */
const REMINDED_AFTER_MS = 4 * 3_600_000;
/** Faults of ourselves that keep a workspace from being read. */
export const READING_RULES = ['sync_stale', 'sync_failed'];
const OUR_RULES = [...READING_RULES, 'job_failed'];

/** What is known when a message arrives. */
export interface ToldMoment {
  madeMs: number;
  clocksRightSinceMs: number;
  /** Whether an earlier word of the alert may count as told, although the receiver has not taken it. */
  mayHaveBeenTold(alertId: string): boolean;
  /** Whether its ledger has given the workspace away since: what has waited there may come after what is newer. */
  isLeftBehind: boolean;
}

/** What a receiver got: no two messages under one id, no secret in any, none that was not so, and in the end what is so. */
export class ToldOracle {
  readonly #payloads = new Map<string, string>();
  readonly #last = new Map<string, { notificationId: string; word: Message; atMs: number }>();
  readonly #secrets: readonly string[];
  readonly #lateMs: number;

  /** `lateMs`: by how much looks at what is due may be later than is usual. */
  constructor(services: Iterable<SimulatedService>, lateMs: number) {
    this.#lateMs = lateMs;
    this.#secrets = [...services].map(({ secretKey }) => secretKey);
  }

  /** Of anything that somebody reads. */
  checkSecrets(text: string, where: string): void {
    if (this.#secrets.some((secret) => text.includes(secret))) throw new PromiseBroken('no secret is told', where);
  }

  /** `madeMs` is when the message was written down: what was to be said then is known while every clock is right. */
  check(
    message: Received,
    { madeMs, clocksRightSinceMs, ...moment }: ToldMoment,
    truthOf: (id: string) => WorkspaceTruth,
  ): void {
    const { notificationId, payload } = message;
    const known = this.#payloads.get(notificationId) ?? payload;
    this.#payloads.set(notificationId, payload);
    if (known !== payload) throw new PromiseBroken('an id is one message', notificationId);
    this.checkSecrets(payload, notificationId);
    for (const word of wordsIn(payload)) {
      this.#checkOrder(message, word, { clocksRightSinceMs, ...moment });
      this.#checkReal(word, { madeMs, clocksRightSinceMs }, truthOf);
    }
  }

  /**
   * Nothing is closed before it was opened, and the revisions of an alert rise; only the same message comes twice. What has waited
   * where the workspace was before may come late, and counts as told then.
   */
  #checkOrder(
    { channel, notificationId, atMs }: Received,
    word: Message,
    { clocksRightSinceMs, mayHaveBeenTold, isLeftBehind }: Omit<ToldMoment, 'madeMs'>,
  ): void {
    const { alert_id, revision = 0 } = word;
    if (alert_id === undefined) return;
    const key = `${channel} ${alert_id}`;
    const last = this.#last.get(key);
    if (last?.notificationId === notificationId) return;
    const isNewer = revision > (last?.word.revision ?? 0);
    if (isNewer) this.#last.set(key, { notificationId, word, atMs });
    if (isLeftBehind) return;
    if (!isNewer)
      throw new PromiseBroken('what comes later is newer', `${key}: ${revision} after ${last?.word.revision}`);
    if (!isOpenWord(word) && !isOpenWord(last?.word) && !mayHaveBeenTold(alert_id))
      throw new PromiseBroken('nothing is closed before it was opened', `${key}: ${word.summary}`);
    if (word.event === 'opened' && isOpenWord(last?.word))
      throw new PromiseBroken('what was told is not told anew', `${key}: ${word.summary}`);
    const sinceMs = last === undefined || last.atMs < clocksRightSinceMs ? Infinity : atMs - last.atMs;
    if (word.event === 'reminder' && sinceMs < REMINDED_AFTER_MS)
      throw new PromiseBroken('a reminder waits for its hours', `${key}: ${sinceMs} ms after the last word`);
  }

  #checkReal(
    word: Message,
    { madeMs, clocksRightSinceMs }: { madeMs: number; clocksRightSinceMs: number },
    truthOf: (id: string) => WorkspaceTruth,
  ): void {
    const { type, rule = '', workspace_id, summary, began_at } = word;
    if (type !== 'alert.firing' || !READING_RULES.includes(rule)) return;
    // A channel may be new. What a clock that was wrong has begun goes on until the next run.
    const beganMs = Date.parse(began_at ?? '');
    if (beganMs > madeMs + SLACK_MS || clocksRightSinceMs > Math.min(madeMs, beganMs) - SLACK_MS) return;
    const { runs, pauseMs, readableSinceMs } = truthOf(workspace_id ?? '');
    const last = runs.findLast(({ atMs }) => atMs <= madeMs);
    const ageMs = last === undefined || !isDatedRight(last) ? Number.POSITIVE_INFINITY : madeMs - last.atMs;
    if (rule === 'sync_stale' && ageMs < staleAfterMs(pauseMs) - SLACK_MS)
      throw new PromiseBroken('an alert is real', `${workspace_id} was read ${ageMs} ms before: ${summary}`);
    if (madeMs > readableSinceMs + staleAfterMs(pauseMs) + LATEST_RETRY_MS + this.#lateMs)
      throw new PromiseBroken('an alert is real', `nothing was in the way of ${workspace_id}: ${summary}`);
  }

  /**
   * Once everything has been quiet for a while.
   */
  checkAtRest(
    ledger: LedgerView,
    listeners: readonly Listener[],
    isOurs: (workspaceId: string | null) => boolean,
    isReadable: (workspaceId: string) => boolean,
  ): void {
    const all = ledger.all<{
      alert_id: string;
      rule: string;
      severity: string;
      state: string;
      workspace_id: string;
      tenant_id: null;
      cause: string;
    }>(
      'SELECT alert_id, rule, cause, severity, state, workspace_id, tenant_id FROM finance_alerts WHERE rule IN (SELECT value FROM json_each(?))',
      JSON.stringify(OUR_RULES),
    );
    const rows = all.filter(({ workspace_id }) => isOurs(workspace_id));
    const complete = listeners.filter(({ hasAll }) => hasAll);
    const known = complete.map((listener) => ({ ...listener, words: lastWords(listener.receiver.inbox) }));
    for (const row of rows) {
      const { alert_id, rule, state, workspace_id } = row;
      const isOpen = state === 'firing' || state === 'acknowledged';
      if (isOpen && READING_RULES.includes(rule) && isReadable(workspace_id))
        throw new PromiseBroken('what has ended has ended', `${alert_id}: ${rule} is ${state} at rest`);
      const heard = known
        // A warning waits for the daily summary of a channel that has one.
        .filter(({ route }) => takes(route, row) && (route.digest_hour === undefined || row.severity !== 'warning'))
        .map(({ receiver: { name }, words }) => ({ name, open: isOpenWord(words.get(alert_id)) }));
      for (const { name, open } of heard) {
        if (open && !isOpen)
          throw new PromiseBroken('the last word is what is so', `${rule} ${alert_id}: ${name} was told no end`);
        if (isOpen && !open && heard.some((other) => other.open))
          throw new PromiseBroken('all hear of what all are to hear', `${rule} ${alert_id}: ${name} heard nothing`);
      }
    }
  }
}

/** For the trace. */
export function inShort({ channel, payload }: Received): string {
  const { type, rule, state, workspace_id, tenant_id } = JSON.parse(payload) as Message;
  return [channel, type, rule, state, workspace_id, tenant_id].filter((part) => part !== undefined).join(' ');
}
