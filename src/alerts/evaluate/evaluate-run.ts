import type { AlertSettings } from '../../config/types.ts';
import { onceEach } from '../../core/one-at-a-time.ts';
import type { CreditPricer } from '../../ledger/journal/charges/credit-pricer.ts';
import type { MergedRun } from '../../ledger/journal/runs/apply-run.ts';
import type { LedgerConnection } from '../../ledger/store/file/open.ts';
import { periodKeyOf } from '../../ledger/store/schema/keys.ts';
import { AlertBook } from '../book/alert-book.ts';
import { Curves, type KeptHistory } from '../history/curves.ts';
import { createRepeats } from '../history/repeats.ts';
import { type AlertSubject, type Observation, ownObservation } from '../rules/observation.ts';
import { type RuleName, UNDECIDED } from '../rules/rule.ts';
import { judgeJob } from '../rules/self.ts';
import { isOfReading, rulesWith } from '../rules/table.ts';
import type { RunAlerts } from '../track/alert-change.ts';
import type { StoredAlert } from '../track/alert-rows.ts';
import type { ChannelRoute } from '../track/routes.ts';
import { createFactsReader, type TenantFacts } from './candidates.ts';
import { createJudge, type Judge } from './judge/judge.ts';
import { NewFindings } from './new-findings.ts';
import { createPeriodFacts } from './period-facts.ts';
import { isPast, reconsider, withoutFigures } from './reconsider.ts';
import { blaming, evaluateAll, type Faults } from './rule-fault.ts';
import { RunPeriods } from './run-periods.ts';
import { tenantSettings } from './tenant-settings.ts';

/** What a run needs to know to evaluate the rules; plain data, because it crosses threads. */
export interface RunAlertSettings {
  rules: AlertSettings;
  /** The channels that there are, with what each of them is told of. */
  channels: readonly ChannelRoute[];
  /** Rules speak of the current period and this many before it, at least of one. */
  lookbackPeriods: number;
  /** A period's figures have settled this many hours after its end. */
  settleHours: number;
}

interface EvaluationSources {
  /** The ledger that has the entries of earlier runs; a replay keeps none of its own. */
  history?: LedgerConnection;
  /** The same in memory, for a replay. */
  kept?: KeptHistory;
  /** Gives the money at stake. */
  priceOf?: CreditPricer | null;
}

/**
 * Evaluates the rules over what a run has changed, over periods that have settled since the last run, and over the
 * alerts that are open; stores the outcome with its notifications. Runs inside the transaction that applies the run,
 * so an alert exists exactly when the figures behind it do; a rule that throws is told as `job_failed`.
 */
export function evaluateRun(
  merged: MergedRun,
  settings: RunAlertSettings,
  { history = merged.connection, priceOf = null, kept }: EvaluationSources = {},
): RunAlerts {
  const { connection, run, nowMs, appliedAt } = merged;
  const { workspaceKey, workspaceId, runKey, runId } = run;
  const open = () =>
    new AlertBook({
      ...{ connection, workspaceKey, workspaceId, runKey, runId, actor: 'run' as const, nowMs },
      ...{ seeding: run.first, at: appliedAt, channels: settings.channels, priceOf },
    });
  return evaluateAll(connection, {
    withoutFaulty(faults) {
      const book = open();
      new RunEvaluation(merged, settings, { book, history, faults, kept, priceOf }).evaluate();
      return finished(book, faults.size === 0 ? null : [...faults.values()].join('; '));
    },
    withoutAny: (fault) => finished(open(), fault),
  });
}

/** Says, last of all, whether all rules have looked at the run. */
function finished(book: AlertBook, fault: string | null): RunAlerts {
  book.observe(ownObservation('job_failed', 'alerting', judgeJob('alerting', fault), fault));
  return book.finish();
}

interface Evaluating {
  book: AlertBook;
  history: LedgerConnection;
  kept: KeptHistory | undefined;
  priceOf: CreditPricer | null;
  /** Rules that have thrown in this run: they are not asked again. */
  faults: Faults;
}

class RunEvaluation {
  readonly #merged: MergedRun;
  readonly #book: AlertBook;
  readonly #faults: Faults;
  readonly #open: readonly StoredAlert[];
  readonly #openByKey: ReadonlyMap<string, StoredAlert>;
  readonly #isRepeated: (alert: StoredAlert) => boolean;
  readonly #judge: Judge;
  readonly #read: (periodKey: number, tenantKey: number) => TenantFacts;
  readonly #periods: RunPeriods;
  readonly #findings: NewFindings;
  readonly #seen = new Set<string>();
  readonly #isReplay: boolean;

  constructor(merged: MergedRun, settings: RunAlertSettings, { book, history, faults, kept, priceOf }: Evaluating) {
    const { connection, run, nowMs, lastEntryIdBefore } = merged;
    const { workspaceKey } = run;
    const { lookbackPeriods, settleHours } = settings;
    this.#merged = merged;
    this.#book = book;
    this.#faults = faults;
    this.#isReplay = kept !== undefined;
    this.#open = book.open();
    this.#openByKey = new Map(this.#open.map((alert) => [subjectKey(alert), alert]));
    const rules = tenantSettings(settings.rules);
    const factsOf = createPeriodFacts(connection, { workspaceKey, nowMs, settleHours });
    const tenantId = onceEach((tenantKey: number) => book.tenantId(tenantKey));
    const curves = new Curves({ connection, history, workspaceKey, nowMs, ...(kept === undefined ? {} : { kept }) });
    this.#isRepeated = createRepeats(connection, curves, nowMs);
    this.#read = createFactsReader(connection);
    this.#judge = createJudge({
      connection,
      settings: rules,
      factsOf,
      tenantId,
      curves,
      nowMs,
      lastEntryIdBefore,
      priceOf,
    });
    const sources = { merged, settings: rules, factsOf, curves };
    this.#periods = new RunPeriods({ ...sources, lookbackPeriods });
    this.#findings = new NewFindings(
      { ...sources, read: this.#read, judge: this.#judge },
      {
        begin: (subject, judge) => this.#begin(subject, judge),
        more: (subject, judge) => this.#more(subject, judge),
        observe: (seen) => this.#observe(seen),
      },
    );
  }

  evaluate(): void {
    // What a complete run proves wrong goes first, or it would keep quiet what the same run has found.
    for (const alert of this.#open) {
      if (isOfReading(alert.rule)) this.#observe(withoutFigures(alert), alert);
    }
    // Who has stopped goes before newcomers, of which one may be its new id.
    this.#of('drop', () => this.#findings.stopped(this.#periods.current));
    const [stops, others] = [true, false].map((isStop) =>
      this.#open.filter(({ rule }) => (rule === 'drop') === isStop),
    );
    this.#reconsiderAll(stops);
    for (const periodKey of this.#periods.inReach()) {
      const look = this.#periods.lookAt(periodKey);
      if (look === null) continue;
      this.#findings.inPeriod(periodKey, look);
      // A rule that threw looks again at all tenants: in the first run in which it does not throw.
      if (look.settlesNow && this.#faults.size === 0) this.#periods.settle(periodKey);
    }
    this.#of('regression', () => this.#findings.fallenCounters());
    this.#of('restatement', () => this.#findings.restatedPeriods());
    this.#of('withdrawn', () => this.#findings.withdrawnRecords());
    this.#reconsiderAll(others);
  }

  #reconsiderAll(alerts: readonly StoredAlert[] = []): void {
    for (const alert of alerts) this.#of(alert.rule, () => this.#reconsider(alert));
  }

  /** Of a rule that has thrown nothing is looked at, so that nothing of it changes. */
  #of(rule: RuleName, look: () => void): void {
    if (!this.#faults.has(rule)) blaming(rule, look);
  }

  /** Judges an open alert again, unless this run has looked at its subject already. */
  #reconsider(alert: StoredAlert): void {
    if (alert.periodKey === null || alert.rule === 'incident' || this.#seen.has(subjectKey(alert))) return;
    if (this.#isForgotten(alert, alert.periodKey)) {
      this.#book.expire(alert);
      return;
    }
    if (this.#isReplay && this.#standsAsSettled(alert, alert.periodKey)) return;
    const seen = reconsider(alert, alert.periodKey, { judge: this.#judge, read: this.#read });
    if (isPast(alert, seen)) this.#book.expire(alert);
    else this.#observe(seen, alert);
  }

  /** What has settled stands while no figure up to its month changes; but for other settings, which a replay does not get. */
  #standsAsSettled({ rule, level, state, clearRunKey }: StoredAlert, periodKey: number): boolean {
    if (level !== 'settled' || state !== 'firing' || clearRunKey !== null || !OF_SETTLED.includes(rule)) return false;
    return [...this.#merged.changed.keys()].every((changed) => changed > periodKey);
  }

  /** Neither its period nor its last change lies in reach of the rules any more. */
  #isForgotten(alert: StoredAlert, periodKey: number): boolean {
    const changedIn = periodKeyOf(this.#merged.run.workspaceKey, alert.lastChangedAt.slice(0, 7));
    return Math.max(periodKey, changedIn) < this.#periods.oldest;
  }

  /** A candidate matters only when its rule holds; alerts that are open are looked at with what they know. */
  #begin(subject: AlertSubject, judge: () => Observation | null): void {
    if (this.#openByKey.has(subjectKey(subject))) return;
    this.#of(subject.rule, () => {
      const seen = judge();
      if (seen?.judgement.verdict === 'holds') this.#observe(seen);
    });
  }

  /** Of an alert that is open only what is larger than what was told of it is new. */
  #more(subject: AlertSubject, judge: (measure: bigint | null) => Observation): void {
    const known = this.#openByKey.get(subjectKey(subject));
    this.#of(subject.rule, () => {
      const seen = judge(known?.measure ?? null);
      if (seen.judgement.verdict !== 'holds') return;
      const isLarger = (seen.judgement.finding.measure ?? 0n) > (known?.measure ?? 0n);
      if (known === undefined || isLarger) this.#observe(seen);
    });
  }

  #observe(seen: Observation, alert?: StoredAlert): void {
    this.#of(seen.rule, () => {
      this.#seen.add(subjectKey(seen));
      const open = this.#openByKey.get(subjectKey(seen));
      const isEnd = CORRECTIONS.includes(seen.rule) && seen.judgement.verdict === 'clear';
      const goesOn = isEnd && open !== undefined && this.#isRepeated(open);
      this.#book.observe(goesOn ? { ...seen, judgement: UNDECIDED } : seen, alert);
    });
  }
}

/** Rules about readings that a service takes back and gives again: what does so night after night is told once, not nightly. */
const CORRECTIONS = rulesWith(({ ofReadings }) => ofReadings === true);

/** Rules that compare settled months by their figures alone. */
const OF_SETTLED = rulesWith(({ ofSettled }) => ofSettled === true);

function subjectKey({ rule, periodKey, tenantKey, cause = null }: AlertSubject): string {
  return `${rule}.${periodKey}.${tenantKey}.${cause}`;
}
