import type { OutletConfig } from '../../config/types.ts';
import { backoffMs } from '../../core/backoff.ts';
import type { Clock } from '../../core/clock.ts';
import { summarizeError } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import { addPeriods, type Period, periodAt, periodRange } from '../../core/period.ts';
import type { PeriodicTask } from '../../core/periodic-task.ts';
import { ageMs } from '../../core/stored-time.ts';
import { formatDuration } from '../../core/text/words.ts';
import { describeHeadMismatch } from '../../ledger/audit/anchor/checkpoint-log.ts';
import { readOutlet } from '../../ledger/journal/outlets/outlet-book.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { ledgerId } from '../../ledger/store/schema/identity.ts';
import { Forwarder, type StepReport } from '../../outlets/forwarder.ts';
import { openReceiver } from '../../outlets/open-receiver.ts';
import { describeOutletProblems, readOutletStatuses } from '../../outlets/outlet-status.ts';
import { checkOutlet, findRefusedEntries, type OutletDifference } from '../../outlets/read-back.ts';
import type { Receiver } from '../../outlets/receiver.ts';
import type { Context } from '../../wiring/context.ts';
import type { Writer } from '../../writer/writer.ts';
import { healthOf, startJob } from '../jobs.ts';
import type { ReportedHealth } from '../reported-health.ts';

/**
 * The interval between retries of held entries. It is longer than that for new entries, because tenants rarely get a
 * new name.
 */
const HELD_RETRY_INTERVAL_MS = 15_000;
const COMPARE_INTERVAL_MS = 24 * 3_600_000;
/**
 * A difference is reported only if a second comparison, after this time, finds it again. Before that, events may still
 * be in flight.
 */
const MIN_CONFIRM_DELAY_MS = 10 * 60_000;
/**
 * Interval at which receivers are asked which events they refused after accepting them. Receivers report such events
 * late.
 */
const LATE_REFUSALS_INTERVAL_MS = 60 * 60_000;
/** An alert is raised when a receiver has accepted nothing for this long. */
const STUCK_ALERT_AFTER_MS = 60 * 60_000;
const OUTLET_RETRY = { baseMs: 1_000, maxMs: 5 * 60_000 };
/** Months before the current one that the daily comparison covers. */
const COMPARED_PREVIOUS_MONTHS = 2;

/**
 * Starts one watch per configured outlet. If the receiver of one outlet cannot be opened, the other outlets still send.
 */
export async function startOutlets(context: Context, wakeDeliveries: () => void): Promise<{ stop(): Promise<void> }> {
  const { config, clock, logger } = context;
  const { connection } = context.reader();
  const mismatch = describeHeadMismatch(connection, config.ledger.path);
  if (mismatch !== null) await (await context.writer()).pauseRestored(clock.now());
  const { redact, outletDispatcher: dispatcher } = context;
  const deps = { ledgerId: ledgerId(connection), clock, proxy: config.proxy, redact, dispatcher };
  const start = async (outlet: OutletConfig): Promise<OutletWatch | null> => {
    const reportHealth = async (detail: string | null): Promise<void> => {
      if ((await context.reportJobHealth({ job: 'outlet', of: outlet.name, detail })) > 0) wakeDeliveries();
    };
    try {
      const { receiver, close: closeReceiver } = openReceiver(outlet, deps);
      const writer = () => context.writer();
      return new OutletWatch({ ...deps, outlet, receiver, closeReceiver, connection, writer, logger, reportHealth });
    } catch (error) {
      const { code, message } = summarizeError(error);
      logger.error({ outlet: outlet.name, code, reason: message }, 'could not open the receiver of an outlet');
      await reportHealth(message);
      return null;
    }
  };
  const started = await Promise.all(config.outlets.map(start));
  return { stop: async () => void (await Promise.all(started.map((watch) => watch?.stop()))) };
}

interface OutletWatchOptions {
  outlet: OutletConfig;
  receiver: Receiver;
  closeReceiver(): Promise<void>;
  ledgerId: string;
  connection: LedgerDb;
  writer(): Promise<Writer>;
  clock: Clock;
  logger: Logger;
  /** Raises the alert about the outlet; null ends the alert. */
  reportHealth(detail: string | null): Promise<void>;
}

/** Forwards new ledger entries to one receiver, and compares the receiver's sums with the ledger once a day. */
class OutletWatch {
  readonly #options: OutletWatchOptions;
  readonly #sweep: Forwarder;
  readonly #tasks: readonly PeriodicTask[];
  #version: unknown = null;
  #hasWork = true;
  #heldRetriedAtMs = Number.NEGATIVE_INFINITY;
  #restUntilMs = 0;
  #nextLateRefusalsMs = Number.NEGATIVE_INFINITY;
  #failures = 0;
  /** The receiver's current failure and its start on the monotonic clock; null while the receiver accepts events. */
  #stuck: { sinceMs: number; answer: string } | null = null;
  /**
   * Differences found by the last comparison, and the monotonic time of the second comparison, which has to confirm
   * them.
   */
  #suspected: { differences: readonly OutletDifference[]; againAtMs: number } | null = null;
  #cannotReadBack = false;
  readonly #health: ReportedHealth;

  constructor(options: OutletWatchOptions) {
    this.#options = options;
    this.#sweep = new Forwarder(options);
    const { clock, logger } = options;
    const forward = (signal: AbortSignal): Promise<void> => this.#forward(signal);
    const reportHealth = async (signal: AbortSignal): Promise<void> => {
      await this.#readLateRefusals(signal).catch((error: unknown) =>
        this.#warn(error, 'could not read late refusals from an outlet'),
      );
      await this.#compare(signal).catch((error: unknown) =>
        this.#warn(error, 'could not compare an outlet with the ledger'),
      );
      await this.#reportHealth();
    };
    this.#health = healthOf('outletHealth', clock, (detail) => options.reportHealth(detail));
    this.#tasks = [
      startJob('forward', { clock, logger }, forward),
      startJob('outletHealth', { clock, logger }, reportHealth),
    ];
  }

  async stop(): Promise<void> {
    await Promise.all(this.#tasks.map((task) => task.stop()));
    await this.#options.closeReceiver();
  }

  async #forward(signal: AbortSignal): Promise<void> {
    const { clock, connection } = this.#options;
    // SQLite increments `data_version` when another connection commits.
    const version = connection.pragma('data_version', { simple: true });
    if (version !== this.#version) this.#hasWork = true;
    this.#version = version;
    if (!this.#hasWork || clock.monotonic() < this.#restUntilMs) return;
    try {
      this.#hasWork = false;
      let report = await this.#sweep.step(signal);
      this.#applyReport(report);
      while (report.more && !signal.aborted) {
        report = await this.#sweep.step(signal);
        this.#applyReport(report);
      }
      if (report.fault !== null || clock.monotonic() - this.#heldRetriedAtMs < HELD_RETRY_INTERVAL_MS) {
        this.#hasWork = true;
        return;
      }
      this.#heldRetriedAtMs = clock.monotonic();
      do {
        report = await this.#sweep.stepHeld(signal);
        this.#applyReport(report);
      } while (report.more && !signal.aborted);
    } catch (error) {
      if (signal.aborted) {
        // After a deadline, the next pass sends the remaining entries.
        this.#hasWork = true;
        return;
      }
      const { code, message } = summarizeError(error);
      // Another process is sending to this outlet, so the next pass sends the remaining entries.
      if (code === 'outlet_moved') this.#hasWork = true;
      else this.#applyReport({ taken: 0, more: false, fault: { answer: message, afterMs: null }, paused: null });
    }
  }

  #applyReport({ taken, fault, paused }: StepReport): void {
    const { clock, logger, outlet } = this.#options;
    if (paused !== null) {
      logger.error({ outlet: outlet.name, reason: paused }, 'outlet paused');
      void this.#reportHealth().catch((error: unknown) => this.#warn(error, 'could not write an alert'));
    }
    if (fault === null) {
      if (taken > 0 && this.#stuck !== null) logger.info({ outlet: outlet.name }, 'the receiver accepts events again');
      if (taken > 0) [this.#stuck, this.#failures] = [null, 0];
      return;
    }
    if (this.#stuck === null)
      logger.warn(
        { outlet: outlet.name, reason: fault.answer },
        'the receiver did not accept the events, they will be sent again',
      );
    this.#stuck = { sinceMs: this.#stuck?.sinceMs ?? clock.monotonic(), answer: fault.answer };
    this.#restUntilMs = clock.monotonic() + Math.max(fault.afterMs ?? 0, backoffMs(this.#failures, OUTLET_RETRY));
    this.#failures += 1;
    this.#hasWork = true;
  }

  /** Records as exceptions the events that the receiver refused after it had accepted them. */
  async #readLateRefusals(signal: AbortSignal): Promise<void> {
    const { outlet, connection, clock, receiver, logger } = this.#options;
    const row = readOutlet(connection, outlet.name);
    if (receiver.readLateRefusals === undefined || row === undefined || clock.monotonic() < this.#nextLateRefusalsMs)
      return;
    this.#nextLateRefusalsMs = clock.monotonic() + LATE_REFUSALS_INTERVAL_MS;
    const sinceMs = row.reportsUntil === null ? 0 : Date.parse(row.reportsUntil);
    const { refused: reported, unnamed, untilMs } = await receiver.readLateRefusals(sinceMs, signal);
    const refused = await findRefusedEntries(this.#options, reported, signal);
    const noted = { name: outlet.name, refused, untilMs, nowMs: clock.now() };
    await (await this.#options.writer()).recordRejections(noted);
    if (unnamed > 0)
      logger.warn({ outlet: outlet.name, events: unnamed }, 'the receiver refused events without naming them');
  }

  async #compare(signal: AbortSignal): Promise<void> {
    const { outlet, connection, clock, receiver } = this.#options;
    const row = readOutlet(connection, outlet.name);
    if (this.#cannotReadBack || row === undefined || row.paused !== null) return;
    const age = row.checkedAt === null ? null : ageMs(Date.parse(row.checkedAt), clock.now());
    const isDue = this.#suspected === null ? (age ?? COMPARE_INTERVAL_MS) >= COMPARE_INTERVAL_MS : this.#isConfirmDue();
    if (!isDue) return;
    const found: OutletDifference[] = [];
    for (const period of comparedPeriods(row.fromPeriod, clock.now())) {
      const { customers, differences } = await checkOutlet(this.#options, period, signal);
      this.#cannotReadBack = customers === null;
      if (this.#cannotReadBack) return;
      found.push(...differences);
    }
    const seen = this.#suspected?.differences ?? [];
    const confirmed = found.filter((one) => seen.some((other) => isSameDifference(one, other)));
    if (found.length > 0 && this.#suspected === null) {
      const waitMs = Math.max(MIN_CONFIRM_DELAY_MS, receiver.limits.visibleAfterMs);
      this.#suspected = { differences: found, againAtMs: clock.monotonic() + waitMs };
      return;
    }
    this.#suspected = null;
    const writer = await this.#options.writer();
    const differences = confirmed.length === 0 ? null : JSON.stringify(confirmed);
    await writer.recordComparison({ name: outlet.name, differences, nowMs: clock.now() });
  }

  #isConfirmDue(): boolean {
    return this.#options.clock.monotonic() >= (this.#suspected?.againAtMs ?? 0);
  }

  async #reportHealth(): Promise<void> {
    const { outlet, connection, clock } = this.#options;
    const [standing] = readOutletStatuses(connection, [outlet]);
    if (standing === undefined) return;
    const isByHand = readOutlet(connection, outlet.name)?.paused === 'hand';
    const stuckMs = this.#stuck === null ? 0 : clock.monotonic() - this.#stuck.sinceMs;
    const stuck =
      stuckMs < STUCK_ALERT_AFTER_MS
        ? []
        : [`no event accepted for ${formatDuration(stuckMs)}: ${this.#stuck?.answer}`];
    const parts = [...stuck, describeOutletProblems(standing, isByHand) ?? []].flat();
    const detail = parts.length === 0 ? null : parts.join('; ');
    await this.#health.report(detail);
  }

  #warn(error: unknown, text: string): void {
    const { code, message } = summarizeError(error);
    this.#options.logger.warn({ outlet: this.#options.outlet.name, code, reason: message }, text);
  }
}

function comparedPeriods(fromPeriod: Period, nowMs: number): Period[] {
  const current = periodAt(nowMs);
  const first = addPeriods(current, -COMPARED_PREVIOUS_MONTHS);
  return periodRange(first < fromPeriod ? fromPeriod : first, current);
}

function isSameDifference(one: OutletDifference, other: OutletDifference): boolean {
  const off = ({ ledger, receiver }: OutletDifference): number => Number(ledger) - Number(receiver);
  return one.period === other.period && one.customer === other.customer && off(one) === off(other);
}
