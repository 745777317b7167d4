import type { OutletConfig } from '../config/types.ts';
import type { Clock } from '../core/clock.ts';
import { summarizeError } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import { backoffMs } from '../core/net/retry.ts';
import { addPeriods, type Period, periodAt, periodRange } from '../core/period.ts';
import { type PeriodicTask, startPeriodicTask } from '../core/periodic-task.ts';
import { ageMs } from '../core/stored-time.ts';
import { formatDuration } from '../core/text/words.ts';
import { headMismatch } from '../ledger/audit/anchor/checkpoint-log.ts';
import { readOutlet } from '../ledger/journal/outlets/outlet-book.ts';
import type { LedgerDb } from '../ledger/store/ledger-db.ts';
import { ledgerId } from '../ledger/store/schema/identity.ts';
import { openReceiver } from '../outlets/open-receiver.ts';
import { checkOutlet, findRefused, type OutletDifference } from '../outlets/read-back.ts';
import type { Receiver } from '../outlets/receiver.ts';
import { outletStandings, troubleOf } from '../outlets/standing.ts';
import { type StepReport, Sweep } from '../outlets/sweep.ts';
import type { Context } from '../wiring/context.ts';
import type { Writer } from '../writer/writer.ts';

const LOOK_INTERVAL_MS = 1_000;
/** Names come seldom: tenants that are held are looked at less often than entries. */
const HELD_INTERVAL_MS = 15_000;
const TELL_INTERVAL_MS = 15_000;
const CHECK_INTERVAL_MS = 24 * 3_600_000;
/** What a check has found must be there again after this before anybody is told: events may be under way. */
const CONFIRM_MS = 10 * 60_000;
/** What it refused after it was taken is asked for so often: reports come late. */
const REFUSED_INTERVAL_MS = 60 * 60_000;
/** A receiver that takes nothing for so long is told of. */
const STUCK_MS = 60 * 60_000;
const OUTLET_RETRY = { baseMs: 1_000, maxMs: 5 * 60_000 };
const CHECKED_BACK = 2;

/** One watch for each outlet of the configuration. One whose receiver cannot be set up keeps no other from sending. */
export async function startOutlets(context: Context, notified: () => void): Promise<{ stop(): Promise<void> }> {
  const { config, clock, logger } = context;
  const { connection } = context.reader();
  const mismatch = headMismatch(connection, config.ledger.path);
  if (mismatch !== null) await (await context.writer()).pauseRestored(clock.now());
  const { redact, outletDispatcher: dispatcher } = context;
  const deps = { ledgerId: ledgerId(connection), clock, proxy: config.proxy, redact, dispatcher };
  const start = async (outlet: OutletConfig): Promise<OutletWatch | null> => {
    const tell = async (detail: string | null): Promise<void> => {
      if ((await context.reportJobHealth({ job: 'outlet', of: outlet.name, detail })) > 0) notified();
    };
    try {
      const { receiver, close: closeReceiver } = openReceiver(outlet, deps);
      const writer = () => context.writer();
      return new OutletWatch({ ...deps, outlet, receiver, closeReceiver, connection, writer, logger, tell });
    } catch (error) {
      const { code, message } = summarizeError(error);
      logger.error({ outlet: outlet.name, code, reason: message }, 'the receiver of an outlet cannot be set up');
      await tell(message);
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
  /** Raises the alert about the outlet, or with null ends it. */
  tell(detail: string | null): Promise<void>;
}

/** Sends what is new in the ledger on to one receiver, and compares every day what it has. */
class OutletWatch {
  readonly #options: OutletWatchOptions;
  readonly #sweep: Sweep;
  readonly #tasks: readonly PeriodicTask[];
  #version: unknown = null;
  #waits = true;
  #heldAtMs = Number.NEGATIVE_INFINITY;
  #restUntilMs = 0;
  #refusedAtMs = Number.NEGATIVE_INFINITY;
  #failures = 0;
  /** Since when it takes nothing, by the monotonic clock, and why. */
  #stuck: { sinceMs: number; answer: string } | null = null;
  /** What the last check has found, to be seen again; and when to look. */
  #suspected: { differences: readonly OutletDifference[]; againAtMs: number } | null = null;
  #unaskable = false;
  #told: string | null | undefined;

  constructor(options: OutletWatchOptions) {
    this.#options = options;
    this.#sweep = new Sweep(options);
    const { clock, logger } = options;
    const look = (signal: AbortSignal): Promise<void> => this.#look(signal);
    const tell = async (signal: AbortSignal): Promise<void> => {
      await this.#askRefused(signal).catch((error: unknown) => this.#log(error, 'an outlet could not be asked'));
      await this.#check(signal).catch((error: unknown) => this.#log(error, 'an outlet could not be compared'));
      await this.#tell();
    };
    this.#tasks = [
      startPeriodicTask({ clock, logger, intervalMs: LOOK_INTERVAL_MS, failed: 'an outlet failed', work: look }),
      startPeriodicTask({
        clock,
        logger,
        intervalMs: TELL_INTERVAL_MS,
        failed: 'an alert was not written',
        work: tell,
      }),
    ];
  }

  async stop(): Promise<void> {
    await Promise.all(this.#tasks.map((task) => task.stop()));
    await this.#options.closeReceiver();
  }

  async #look(signal: AbortSignal): Promise<void> {
    const { clock, connection } = this.#options;
    // SQLite's own count: it moves when another connection has committed.
    const version = connection.pragma('data_version', { simple: true });
    if (version !== this.#version) this.#waits = true;
    this.#version = version;
    if (!this.#waits || clock.monotonic() < this.#restUntilMs) return;
    try {
      this.#waits = false;
      let report = await this.#sweep.step(signal);
      this.#after(report);
      while (report.more && !signal.aborted) {
        report = await this.#sweep.step(signal);
        this.#after(report);
      }
      if (report.fault !== null || clock.monotonic() - this.#heldAtMs < HELD_INTERVAL_MS) {
        this.#waits = true;
        return;
      }
      this.#heldAtMs = clock.monotonic();
      do {
        report = await this.#sweep.stepHeld(signal);
        this.#after(report);
      } while (report.more && !signal.aborted);
    } catch (error) {
      if (signal.aborted) return;
      const { code, message } = summarizeError(error);
      // Somebody else sends: what is left is seen at the next look.
      if (code === 'outlet_moved') this.#waits = true;
      else this.#after({ taken: 0, more: false, fault: { answer: message, afterMs: null }, paused: null });
    }
  }

  #after({ taken, fault, paused }: StepReport): void {
    const { clock, logger, outlet } = this.#options;
    if (paused !== null) {
      logger.error({ outlet: outlet.name, reason: paused }, 'the outlet is paused');
      void this.#tell().catch((error: unknown) => this.#log(error, 'an alert was not written'));
    }
    if (fault === null) {
      if (taken > 0 && this.#stuck !== null) logger.info({ outlet: outlet.name }, 'the outlet is taken from again');
      if (taken > 0) [this.#stuck, this.#failures] = [null, 0];
      return;
    }
    if (this.#stuck === null)
      logger.warn({ outlet: outlet.name, reason: fault.answer }, 'the receiver did not take it');
    this.#stuck = { sinceMs: this.#stuck?.sinceMs ?? clock.monotonic(), answer: fault.answer };
    this.#restUntilMs = clock.monotonic() + Math.max(fault.afterMs ?? 0, backoffMs(this.#failures, OUTLET_RETRY));
    this.#failures += 1;
    this.#waits = true;
  }

  /** What was refused after it was taken becomes an exception like any other. */
  async #askRefused(signal: AbortSignal): Promise<void> {
    const { outlet, connection, clock, receiver, logger } = this.#options;
    const row = readOutlet(connection, outlet.name);
    if (receiver.refusedLater === undefined || row === undefined || clock.monotonic() < this.#refusedAtMs) return;
    this.#refusedAtMs = clock.monotonic() + REFUSED_INTERVAL_MS;
    const sinceMs = row.reportsUntil === null ? 0 : Date.parse(row.reportsUntil);
    const { refused: reported, unnamed, untilMs } = await receiver.refusedLater(sinceMs, signal);
    const refused = await findRefused(this.#options, reported, signal);
    const noted = { name: outlet.name, refused, untilMs, nowMs: clock.now() };
    await (await this.#options.writer()).recordRejections(noted);
    if (unnamed > 0)
      logger.warn({ outlet: outlet.name, events: unnamed }, 'the receiver refused events it does not name');
  }

  async #check(signal: AbortSignal): Promise<void> {
    const { outlet, connection, clock, receiver } = this.#options;
    const row = readOutlet(connection, outlet.name);
    if (this.#unaskable || row === undefined || row.paused !== null) return;
    const age = row.checkedAt === null ? null : ageMs(Date.parse(row.checkedAt), clock.now());
    const isDue = this.#suspected === null ? (age ?? CHECK_INTERVAL_MS) >= CHECK_INTERVAL_MS : this.#isConfirmDue();
    if (!isDue) return;
    const found: OutletDifference[] = [];
    for (const period of checkedPeriods(row.fromPeriod, clock.now())) {
      const { customers, differences } = await checkOutlet(this.#options, period, signal);
      this.#unaskable = customers === null;
      if (this.#unaskable) return;
      found.push(...differences);
    }
    const seen = this.#suspected?.differences ?? [];
    const confirmed = found.filter((one) => seen.some((other) => isSame(one, other)));
    if (found.length > 0 && this.#suspected === null) {
      const waitMs = Math.max(CONFIRM_MS, receiver.limits.showsAfterMs);
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

  async #tell(): Promise<void> {
    const { outlet, connection, clock, tell } = this.#options;
    const [standing] = outletStandings(connection, [outlet]);
    if (standing === undefined) return;
    const isByHand = readOutlet(connection, outlet.name)?.paused === 'hand';
    const stuckMs = this.#stuck === null ? 0 : clock.monotonic() - this.#stuck.sinceMs;
    const stuck =
      stuckMs < STUCK_MS ? [] : [`nothing was taken for ${formatDuration(stuckMs)}: ${this.#stuck?.answer}`];
    const parts = [...stuck, troubleOf(standing, isByHand) ?? []].flat();
    const detail = parts.length === 0 ? null : parts.join('; ');
    if (detail === this.#told) return;
    await tell(detail);
    this.#told = detail;
  }

  #log(error: unknown, what: string): void {
    const { code, message } = summarizeError(error);
    this.#options.logger.warn({ outlet: this.#options.outlet.name, code, reason: message }, what);
  }
}

function checkedPeriods(fromPeriod: Period, nowMs: number): Period[] {
  const current = periodAt(nowMs);
  const first = addPeriods(current, -CHECKED_BACK);
  return periodRange(first < fromPeriod ? fromPeriod : first, current);
}

function isSame(one: OutletDifference, other: OutletDifference): boolean {
  const off = ({ ledger, receiver }: OutletDifference): number => Number(ledger) - Number(receiver);
  return one.period === other.period && one.customer === other.customer && off(one) === off(other);
}
