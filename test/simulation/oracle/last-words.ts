import type { Receiver } from '../world/receiver.ts';
import { PromiseBroken } from './fault.ts';
import type { LedgerView } from './ledger-view.ts';
import { isOpenWord, lastWords } from './messages.ts';
import { READING_RULES } from './told.ts';

const HOUR_MS = 3_600_000;
/** Looks come late, and a sender that was frozen has to be overtaken first. */
const UNTOLD_MS = 45 * 60_000;
/** What happened less than a day ago may wait for its digest, or for the day since the last news to end. */
const SETTLED_MS = 25 * HOUR_MS;

interface AlertRow {
  alert_id: string;
  rule: string;
  level: string;
  state: string;
  severity: string;
  workspace_id: string;
  first_fired_at: string | null;
  last_changed_at: string;
}

export interface WordsMoment {
  nowMs: number;
  clocksRightSinceMs: number;
  someoneFitSinceMs: number;
}

/** What stands between an alert and its being told. */
export interface Exceptions {
  /** The first run of a workspace tells nobody of what it finds. */
  firstRunMs(workspaceId: string): number;
  isSilenced(workspaceId: string): boolean;
}

const ALERTS = `SELECT alert_id, rule, level, state, severity, workspace_id, first_fired_at, last_changed_at FROM finance_alerts`;

/** What each receiver heard last of each alert is what is so. */
export class LastWordsOracle {
  /** Since when a workspace has an alert of its own that is critical. */
  readonly #critical = new Map<string, number>();

  /** Every now and then: who can be reached has heard what is critical and ours. `complete` are those for whom nothing waits. */
  checkCriticals(ledger: LedgerView, complete: readonly Receiver[], moment: WordsMoment): void {
    const rows = ledger.all<AlertRow>(`${ALERTS} WHERE state = 'firing' AND severity = 'critical'`);
    const critical = rows.filter(({ rule }) => READING_RULES.includes(rule));
    const ids = new Set(critical.map(({ workspace_id }) => workspace_id));
    for (const id of this.#critical.keys()) if (!ids.has(id)) this.#critical.delete(id);
    for (const id of ids) {
      const sinceMs = this.#critical.get(id) ?? moment.nowMs;
      this.#critical.set(id, sinceMs);
      if (moment.nowMs - Math.max(sinceMs, moment.clocksRightSinceMs, moment.someoneFitSinceMs) < UNTOLD_MS) continue;
      const own = critical.filter(({ workspace_id }) => workspace_id === id);
      for (const { name, inbox } of complete) {
        const words = lastWords(inbox);
        if (own.some(({ alert_id }) => isOpenWord(words.get(alert_id)))) continue;
        const rules = own.map(({ rule }) => rule).join(', ');
        throw new PromiseBroken('what is critical is told', `${name} has not heard of ${rules} of ${id}`);
      }
    }
  }

  /** After a quiet day, in a world whose clocks were right. */
  checkAfterADay(
    ledger: LedgerView,
    complete: readonly Receiver[],
    { nowMs, firstRunMs, isSilenced }: Exceptions & { nowMs: number },
  ): void {
    const known = complete.map(({ name, inbox }) => ({ name, words: lastWords(inbox) }));
    for (const row of ledger.all<AlertRow>(ALERTS)) {
      const { alert_id, rule, level, state, workspace_id, first_fired_at, last_changed_at } = row;
      if (nowMs - Date.parse(last_changed_at) < SETTLED_MS) continue;
      const isOpen = state === 'firing' || state === 'acknowledged';
      const isOwed = isOpen && !isSilenced(workspace_id) && Date.parse(first_fired_at ?? '') > firstRunMs(workspace_id);
      for (const { name, words } of known) {
        const word = words.get(alert_id);
        const where = `${rule} ${alert_id} is ${state} ${level}, and ${name} heard ${word?.event ?? 'nothing'}`;
        if (!isOpen && isOpenWord(word)) throw new PromiseBroken('the last word is what is so after a day', where);
        if (!isOwed) continue;
        if (!isOpenWord(word) || word?.level !== level)
          throw new PromiseBroken('the last word is what is so after a day', where);
      }
    }
  }
}
