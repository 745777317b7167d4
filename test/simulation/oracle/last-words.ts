import type { Receiver } from '../world/receiver.ts';
import { PromiseBroken } from './fault.ts';
import type { LedgerView } from './ledger-view.ts';
import { isOpenWord, type Listener, type Message, takes, wordsIn } from './messages.ts';
import { hasMade } from './split.ts';
import { READING_RULES } from './told.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Looks come late, and a sender that was frozen has to be overtaken first. */
const UNTOLD_MS = 25 * 60_000;
/** What happened less than a day ago may wait for its digest, or for the day since the last news to end. */
const SETTLED_MS = 25 * HOUR_MS;

interface AlertRow {
  alert_id: string;
  rule: string;
  level: string;
  state: string;
  severity: string;
  cause: string | null;
  workspace_id: string | null;
  tenant_id: string | null;
  period: string | null;
  current_credits: number | null;
  threshold: number | null;
  first_fired_at: string | null;
  last_changed_at: string;
}

export interface WordsMoment {
  nowMs: number;
  clocksRightSinceMs: number;
  someoneFitSinceMs: number;
  /** Since when the channels are as they are. */
  configuredMs: number;
  /** Whether an alert is about a workspace that is in this ledger now, or about none. */
  isOurs(workspaceId: string | null): boolean;
}

/** What stands between an alert and its being told. */
export interface Exceptions {
  /** The first run of a workspace tells nobody of what it finds. */
  firstRunMs(workspaceId: string): number;
  /** Since when nothing mutes a workspace, and nothing keeps it from being read; infinite while something does. */
  audibleSinceMs(workspaceId: string): number;
}

/** What one receiver has heard. */
interface Heard {
  messages: number;
  /** The last one of each alert. */
  words: Map<string, Message>;
  /** When it heard of a rule in a workspace last. */
  ofRule: Map<string, number>;
}

/** Rules whose settled alerts are records. */
const FINAL_RULES = ['jump', 'workspace_jump', 'drop'];

const ALERTS = `SELECT alert_id, rule, cause, level, state, severity, workspace_id, tenant_id,
  period, current_credits, threshold, first_fired_at, last_changed_at FROM finance_alerts`;

/** What each receiver heard last of each alert is what is so. */
export class LastWordsOracle {
  readonly #lateMs: number;
  /** Since when a workspace has an alert of its own that is critical. */
  readonly #critical = new Map<string, number>();
  readonly #heard = new Map<Receiver, Heard>();

  /** `lateMs`: by how much looks at what is due may be later than is usual. */
  constructor(lateMs: number) {
    this.#lateMs = lateMs;
  }

  /** Every now and then: who can be reached has heard what is critical and ours. */
  checkCriticals(ledger: LedgerView, listeners: readonly Listener[], moment: WordsMoment): void {
    // What somebody has acknowledged explains the rest as well: whoever was told of it knows.
    const rows = ledger.all<AlertRow>(`${ALERTS} WHERE state IN ('firing', 'acknowledged') AND severity = 'critical'`);
    const critical = rows.filter((row) => READING_RULES.includes(row.rule) && moment.isOurs(row.workspace_id));
    const firing = critical.filter(({ state }) => state === 'firing');
    const ids = new Set(firing.flatMap(({ workspace_id }) => workspace_id ?? []));
    for (const id of this.#critical.keys()) if (!ids.has(id)) this.#critical.delete(id);
    for (const id of ids) {
      const sinceMs = this.#critical.get(id) ?? moment.nowMs;
      this.#critical.set(id, sinceMs);
      if (moment.nowMs - Math.max(sinceMs, possibleSinceMs(moment)) < UNTOLD_MS + this.#lateMs) continue;
      for (const { receiver, route, hasAll } of listeners) {
        const own = critical.filter((row) => row.workspace_id === id && takes(route, row));
        const { words } = this.#heardBy(receiver);
        if (own.length === 0 || own.some(({ alert_id }) => isOpenWord(words.get(alert_id)))) continue;
        const rules = own.map(({ rule }) => rule).join(', ');
        const what = `${receiver.name} has not heard of ${rules} of ${id}`;
        if (hasAll) throw new PromiseBroken('what is critical is told', what);
        const takenMs = takenAfterRefusal(receiver, own, (id) => hasMade(ledger, id));
        if (moment.nowMs - takenMs > UNTOLD_MS + this.#lateMs)
          throw new PromiseBroken('what was refused is told when its receiver takes something else a day later', what);
      }
    }
  }

  /** Of what has been so for a day, in a world whose clocks are right. */
  checkSettled(
    ledger: LedgerView,
    listeners: readonly Listener[],
    { firstRunMs, audibleSinceMs, ...moment }: Exceptions & WordsMoment,
  ): void {
    for (const row of ledger.all<AlertRow>(ALERTS).filter((one) => moment.isOurs(one.workspace_id))) {
      const { alert_id, rule, level, state, workspace_id, first_fired_at, last_changed_at } = row;
      const isOpen = state === 'firing' || state === 'acknowledged';
      const isNews = workspace_id === null || Date.parse(first_fired_at ?? '') > firstRunMs(workspace_id);
      const audibleMs = workspace_id === null ? 0 : audibleSinceMs(workspace_id);
      const soMs = Math.max(possibleSinceMs(moment), Date.parse(last_changed_at), audibleMs);
      for (const { receiver, route } of listeners.filter(({ hasAll }) => hasAll)) {
        const { words, ofRule } = this.#heardBy(receiver);
        const word = words.get(alert_id);
        // What moves many is told a day after the last word of it.
        const lastMs = ofRule.get(`${rule} ${workspace_id}`) ?? 0;
        if (moment.nowMs - Math.max(soMs, lastMs) < SETTLED_MS + this.#lateMs) continue;
        if (isOpen && rule === 'drop' && hasNewId(row, words)) continue;
        if (isOpen && rule === 'jump' && isCommon(row, words)) continue;
        const isOwed = isOpen && takes(route, row);
        // The message about settled figures is the last one, whether it is an end or the first one.
        if (word?.level === 'settled' && FINAL_RULES.includes(rule)) continue;
        const isTold = isOpenWord(word) && word?.level === level;
        if (isOwed ? isTold || !isNews : !isOpenWord(word)) continue;
        const heard = `${receiver.name} heard ${word?.event ?? 'nothing'} ${word?.level ?? ''}`;
        throw new PromiseBroken(
          'the last word is what is so after a day',
          `${rule} ${alert_id} is ${state} ${level}, and ${heard}`,
        );
      }
    }
  }

  #heardBy(receiver: Receiver): Heard {
    const heard = this.#heard.get(receiver) ?? { messages: 0, words: new Map(), ofRule: new Map() };
    for (const { atMs, payload } of receiver.inbox.slice(heard.messages)) {
      for (const word of wordsIn(payload)) {
        const { alert_id, revision = 0, rule, workspace_id } = word;
        heard.ofRule.set(`${rule} ${workspace_id}`, atMs);
        if (alert_id === undefined || revision <= (heard.words.get(alert_id)?.revision ?? 0)) continue;
        heard.words.set(alert_id, word);
      }
    }
    heard.messages = receiver.inbox.length;
    this.#heard.set(receiver, heard);
    return heard;
  }
}

/**
 * When a receiver that has refused all that was last tried about these alerts has taken something else of the same ledger, a day or
 * more later; infinite: not since.
 */
function takenAfterRefusal(
  { attempts }: Receiver,
  alerts: readonly AlertRow[],
  isOurs: (notificationId: string) => boolean,
): number {
  const isAbout = (payload: string): boolean => alerts.some(({ alert_id }) => payload.includes(alert_id));
  const last = attempts.findLast(({ payload }) => isAbout(payload));
  if (last?.outcome !== 'rejected') return Number.POSITIVE_INFINITY;
  const taken = attempts.find(({ notificationId, outcome, atMs, isKnown }) => {
    return outcome === 'delivered' && isKnown && atMs > last.endsMs + DAY_MS && isOurs(notificationId);
  });
  return taken?.endsMs ?? Number.POSITIVE_INFINITY;
}

/** Since when nothing has been in the way of telling anybody. */
function possibleSinceMs({ clocksRightSinceMs, someoneFitSinceMs, configuredMs }: WordsMoment): number {
  return Math.max(clocksRightSinceMs, someoneFitSinceMs, configuredMs);
}

/** A stop is not told to who has heard that the tenant goes on under another id. */
function hasNewId({ tenant_id, workspace_id }: AlertRow, words: ReadonlyMap<string, Message>): boolean {
  return [...words.values()].some(
    (word) =>
      isOpenWord(word) &&
      word.workspace_id === workspace_id &&
      word.evidence?.predecessor != null &&
      word.evidence.predecessor.tenant_id === tenant_id,
  );
}

/** A jump need not be told to who has heard by how much most tenants have grown, as long as it has not come further. */
function isCommon(
  { workspace_id, period, current_credits, threshold }: AlertRow,
  words: ReadonlyMap<string, Message>,
): boolean {
  return [...words.values()].some((word) => {
    if (!isOpenWord(word) || word.workspace_id !== workspace_id || word.period !== period) return false;
    const growth = word.evidence?.tenants?.common_growth ?? null;
    return growth !== null && Number(current_credits) < Number(threshold) * growth;
  });
}
