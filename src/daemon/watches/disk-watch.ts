import type { EmergencyMessage, EmergencyOutcome } from '../../alerts/outbox/emergency.ts';
import { HOUR_MS } from '../../core/durations.ts';
import type { PeriodicTask } from '../../core/periodic-task.ts';
import { counted, withThousands } from '../../core/text/words.ts';
import { healthOf, type JobDeps, startJob } from '../jobs.ts';

/**
 * The fill rate is the median loss of free space over these spans (the last three hours), so that a single backup does
 * not change the rate.
 */
const FILL_RATE_SPAN_MS = 10 * 60_000;
const FILL_RATE_SPANS = 18;
const MIN_SPANS_FOR_FILL_RATE = 6;
const MIN_FREE_BYTES_FOR_ALERT = 500 * 1024 ** 2;
const MIN_HOURS_UNTIL_FULL = 24;
/** A reported shortage of space ends only when free space exceeds the limits by this factor. */
const RECOVERY_FACTOR = 1.25;

/** Sends emergency notifications, which do not go through the ledger. */
export interface EmergencyNotifier {
  /** Composes one message per channel about a ledger that cannot be written. */
  messages(detail: string): Promise<EmergencyMessage[]>;
  send(message: EmergencyMessage, signal: AbortSignal): Promise<EmergencyOutcome>;
}

export interface DiskWatchOptions extends EmergencyNotifier, JobDeps {
  freeBytes(): number;
  /** The disk fault of the ledger's last write; null if the write succeeded. */
  writeFault(): string | null;
  /** Raises the alert or, if `detail` is null, ends it. Returns false if the ledger cannot be written. */
  reportHealth(detail: string | null, alreadySent: readonly EmergencyMessage[]): Promise<boolean>;
  /** A disk fault that emergency notifications reported before the daemon started. */
  unrecorded?: UnrecordedFault | null;
}

/**
 * A disk fault that cannot be recorded in the ledger yet. Each channel gets one emergency notification about the fault.
 */
export class UnrecordedFault {
  readonly detail: string;
  readonly #sent: EmergencyMessage[] = [];
  #waiting: readonly EmergencyMessage[] | null = null;

  constructor(detail: string) {
    this.detail = detail;
  }

  async send({ messages, send }: EmergencyNotifier, signal: AbortSignal): Promise<void> {
    this.#waiting ??= await messages(this.detail);
    const waiting: EmergencyMessage[] = [];
    const sent = await Promise.all(this.#waiting.map((message) => send(message, signal)));
    for (const [place, message] of this.#waiting.entries()) {
      if (sent[place] === 'accepted') this.#sent.push(message);
      else waiting.push(sent[place] === 'unknown' ? { ...message, isPossible: true } : message);
    }
    this.#waiting = waiting;
  }

  /** The emergency notifications that channels have received or may have received. */
  get alreadySent(): EmergencyMessage[] {
    return [...this.#sent, ...(this.#waiting ?? []).filter(({ isPossible }) => isPossible)];
  }
}

/**
 * Raises an alert when the ledger's disk runs full or the ledger cannot be written. While the ledger cannot be written,
 * each channel gets one emergency notification. The alert is recorded as soon as writes succeed again.
 */
export function startDiskWatch(options: DiskWatchOptions): PeriodicTask {
  const { freeBytes, writeFault, reportHealth, clock, logger } = options;
  const room = new FreeSpaceTrend();
  const health = healthOf('disk', clock, async (detail) => {
    const isRecorded = await reportHealth(detail, []);
    if (!isRecorded) return false;
    if (detail !== null) logger.warn({ reason: detail }, 'the ledger disk is filling up or failing');
    return true;
  });
  let failedBefore = false;
  let unrecorded = options.unrecorded ?? null;

  async function reportAll(detail: string | null, signal: AbortSignal): Promise<void> {
    if (unrecorded !== null) {
      if (!(await reportHealth(unrecorded.detail, unrecorded.alreadySent))) return unrecorded.send(options, signal);
      health.note(unrecorded.detail);
      unrecorded = null;
    }
    if (!(await health.report(detail)) && detail !== null) {
      logger.error({ reason: detail }, 'cannot write the ledger');
      unrecorded = new UnrecordedFault(detail);
      await unrecorded.send(options, signal);
    }
  }

  return startJob('disk', { clock, logger }, async (signal) => {
    const fault = writeFault();
    // Two failures in a row are required, because the cause of a single failure may be temporary.
    const isFailing = fault !== null && failedBefore;
    failedBefore = fault !== null;
    const shortage = room.shortage(freeBytes(), clock.monotonic(), health.isFailing === true);
    const detail = isFailing ? `cannot write the ledger: ${fault}` : shortage;
    if (detail !== null || fault === null) await reportAll(detail, signal);
  });
}

export function describeFreeSpace(bytes: number): string {
  return `${withThousands(String(Math.floor(bytes / 1024 ** 2)))} MiB free`;
}

/** Measures how fast the free space shrinks, and detects a shortage. */
class FreeSpaceTrend {
  #spans: number[] = [];
  #last: { bytes: number; atMs: number } | null = null;

  /** Returns a description of the shortage of space; null if the disk has enough space for the next 24 hours. */
  shortage(bytes: number, nowMs: number, isReported: boolean): string | null {
    this.#last ??= { bytes, atMs: nowMs };
    if (nowMs - this.#last.atMs >= FILL_RATE_SPAN_MS) {
      const perHour = ((this.#last.bytes - bytes) / (nowMs - this.#last.atMs)) * HOUR_MS;
      this.#spans = [...this.#spans, perHour].slice(-FILL_RATE_SPANS);
      this.#last = { bytes, atMs: nowMs };
    }
    const factor = isReported ? RECOVERY_FACTOR : 1;
    const left = describeFreeSpace(bytes);
    if (bytes < MIN_FREE_BYTES_FOR_ALERT * factor) return left;
    const perHour = this.#spans.toSorted((a, b) => a - b)[Math.floor(this.#spans.length / 2)] ?? 0;
    if (
      this.#spans.length < MIN_SPANS_FOR_FILL_RATE ||
      perHour <= 0 ||
      bytes / perHour >= MIN_HOURS_UNTIL_FULL * factor
    )
      return null;
    return `${left}, enough for ${counted(Math.floor(bytes / perHour), 'hour')} at the rate of the last three hours`;
  }
}
