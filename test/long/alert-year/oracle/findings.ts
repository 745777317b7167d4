import { periodFromIndex } from '../../../../src/core/period.ts';
import type { Change as AlertChange } from '../told.ts';
import { type AlertState, keyOf, type LedgerState, rankOf } from './ledger-state.ts';
import type { Pair } from './renames.ts';

/** What came of holding an alert log against documentation. */
export interface OracleReport {
  /** Cases that documentation says are told, by rule and level: each alert and level once. */
  documented: Record<string, number>;
  missed: string[];
  undocumented: string[];
}

const DAY_MS = 86_400_000;

/** Collects what must be told and what was told without need; each alert and level is complained of once. */
export class Findings {
  readonly #cases = new Set<string>();
  readonly #missed = new Map<string, string>();
  readonly #undocumented = new Map<string, string>();

  /** By now this alert must fire, at this level or a higher one. */
  must(
    ledger: LedgerState,
    { rule, tenant, month }: { rule: string; tenant: string | null; month: number },
    level: AlertChange['level'],
    atMs: number,
  ): void {
    const alert = ledger.of(rule, tenant, month);
    if (alert.seeded) return;
    const id = `${keyOf(rule, tenant, month)} ${level}`;
    this.#cases.add(id);
    // A second piece of news of one alert at one level waits for a day.
    const waits = (alert.newsMs[level] ?? Number.NEGATIVE_INFINITY) > atMs - DAY_MS;
    if (isToldAt(alert, level) || waits || this.#missed.has(id)) return;
    const subject = `${tenant ?? ''} ${periodFromIndex(month)}`;
    this.#missed.set(id, `${rule} ${level} ${subject} at ${isoOf(atMs)}: ${alert.state}`);
  }

  /** A newcomer is told as the new id of another, whose stop is not told. */
  mustBeRenamed(ledger: LedgerState, { former, newcomer }: Pair, month: number, atMs: number): void {
    const id = `rename ${newcomer} likely`;
    this.#cases.add(id);
    const alert = ledger.of('new_spend', newcomer, month);
    const stops = [month, month + 1].map((each) => ledger.of('drop', former, each));
    const isTold = alert.state === 'firing' && alert.level === 'likely' && !stops.some(({ isTold }) => isTold);
    if (!isTold)
      this.#missed.set(id, `rename ${newcomer} of ${former} at ${isoOf(atMs)}: ${alert.state} ${alert.level}`);
  }

  undocumented(change: AlertChange, why: string): void {
    const { rule, level, tenant, period, atMs, change: kind } = change;
    const id = `${rule} ${level} ${tenant} ${period} ${kind}`;
    if (this.#undocumented.has(id)) return;
    this.#undocumented.set(id, `${rule} ${kind} ${level} ${tenant ?? ''} ${period} at ${isoOf(atMs)}: ${why}`);
  }

  report(): OracleReport {
    const documented: Record<string, number> = {};
    for (const id of [...this.#cases].sort()) {
      const parts = id.split(' ');
      const name = `${parts[0]} ${parts.at(-1)}`;
      documented[name] = (documented[name] ?? 0) + 1;
    }
    return { documented, missed: [...this.#missed.values()], undocumented: [...this.#undocumented.values()] };
  }
}

function isToldAt(alert: AlertState, level: AlertChange['level']): boolean {
  return alert.state === 'firing' && rankOf(alert.level) >= rankOf(level);
}

function isoOf(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 16);
}
