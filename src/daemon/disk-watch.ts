import type { DirectMessage, DirectOutcome } from '../alerts/notify/direct-message.ts';
import { HOUR_MS } from '../core/durations.ts';
import { type PeriodicTask, type PeriodicTaskOptions, startPeriodicTask } from '../core/periodic-task.ts';
import { counted, withThousands } from '../core/text/words.ts';

const CHECK_INTERVAL_MS = 60_000;
/** How fast the disk fills is the middle of what it lost in each of these spans of the last three hours, so that no backup counts. */
const SPAN_MS = 10 * 60_000;
const SPANS = 18;
const LEAST_SPANS = 6;
const LEAST_BYTES = 500 * 1024 ** 2;
const LEAST_HOURS = 24;
/** What was told is over with so much more room. */
const OVER = 1.25;

export interface PastLedger {
  /** What each channel is to hear while nothing can be written. */
  messages(detail: string): Promise<DirectMessage[]>;
  send(message: DirectMessage, signal: AbortSignal): Promise<DirectOutcome>;
}

export interface DiskWatchOptions extends PastLedger, Pick<PeriodicTaskOptions, 'clock' | 'logger'> {
  freeBytes(): number;
  /** Why the last write failed, by a fault of the disk; null when it did not. */
  writeFault(): string | null;
  /** Raises the alert with what channels have heard already, or with null ends it; false: the ledger cannot be written. */
  tell(detail: string | null, heard: readonly DirectMessage[]): Promise<boolean>;
  /** What channels were told of before this began. */
  unwritten?: UnwrittenFault | null;
}

/** A fault that the ledger could not take yet: it goes to each channel once. */
export class UnwrittenFault {
  readonly detail: string;
  readonly #heard: DirectMessage[] = [];
  #waiting: readonly DirectMessage[] | null = null;

  constructor(detail: string) {
    this.detail = detail;
  }

  async tell({ messages, send }: PastLedger, signal: AbortSignal): Promise<void> {
    this.#waiting ??= await messages(this.detail);
    const waiting: DirectMessage[] = [];
    const sent = await Promise.all(this.#waiting.map((message) => send(message, signal)));
    for (const [place, message] of this.#waiting.entries()) {
      if (sent[place] === 'accepted') this.#heard.push(message);
      else waiting.push(sent[place] === 'unknown' ? { ...message, isPossible: true } : message);
    }
    this.#waiting = waiting;
  }

  /** What channels have heard, or may have. */
  get told(): DirectMessage[] {
    return [...this.#heard, ...(this.#waiting ?? []).filter(({ isPossible }) => isPossible)];
  }
}

/**
 * Tells that the disk of the ledger fills, and that the ledger cannot be written: what it cannot take goes straight to the
 * channels, once, and into the ledger as soon as that can be written.
 */
export function startDiskWatch(options: DiskWatchOptions): PeriodicTask {
  const { freeBytes, writeFault, tell, clock, logger } = options;
  const room = new Room();
  // A daemon before this one may have told of it.
  let isTold: boolean | null = null;
  let failedBefore = false;
  let unwritten = options.unwritten ?? null;

  async function tellAll(detail: string | null, signal: AbortSignal): Promise<void> {
    if (unwritten !== null) {
      if (!(await tell(unwritten.detail, unwritten.told))) return unwritten.tell(options, signal);
      [isTold, unwritten] = [true, null];
    }
    if (isTold === (detail !== null)) return;
    if (await tell(detail, [])) {
      isTold = detail !== null;
      if (detail !== null) logger.warn({ reason: detail }, 'the disk of the ledger fills, or fails');
    } else if (detail !== null) {
      logger.error({ reason: detail }, 'the ledger cannot be written');
      unwritten = new UnwrittenFault(detail);
      await unwritten.tell(options, signal);
    }
  }

  return startPeriodicTask({
    clock,
    logger,
    intervalMs: CHECK_INTERVAL_MS,
    atOnce: true,
    failed: 'the disk of the ledger could not be looked at',
    async work(signal) {
      const fault = writeFault();
      // One write may fail and the next not.
      const isFailing = fault !== null && failedBefore;
      failedBefore = fault !== null;
      const filling = room.filling(freeBytes(), clock.monotonic(), isTold === true);
      const detail = isFailing ? `it cannot be written: ${fault}` : filling;
      if (detail !== null || fault === null) await tellAll(detail, signal);
    },
  });
}

export function freeWords(bytes: number): string {
  return `${withThousands(String(Math.floor(bytes / 1024 ** 2)))} MiB are free`;
}

class Room {
  #spans: number[] = [];
  #last: { bytes: number; atMs: number } | null = null;

  /** Why somebody has to look at the disk; null: it has room for long. */
  filling(bytes: number, nowMs: number, isTold: boolean): string | null {
    this.#last ??= { bytes, atMs: nowMs };
    if (nowMs - this.#last.atMs >= SPAN_MS) {
      const perHour = ((this.#last.bytes - bytes) / (nowMs - this.#last.atMs)) * HOUR_MS;
      this.#spans = [...this.#spans, perHour].slice(-SPANS);
      this.#last = { bytes, atMs: nowMs };
    }
    const factor = isTold ? OVER : 1;
    const left = freeWords(bytes);
    if (bytes < LEAST_BYTES * factor) return left;
    const perHour = this.#spans.toSorted((a, b) => a - b)[Math.floor(this.#spans.length / 2)] ?? 0;
    if (this.#spans.length < LEAST_SPANS || perHour <= 0 || bytes / perHour >= LEAST_HOURS * factor) return null;
    return `${left}, enough for ${counted(Math.floor(bytes / perHour), 'hour')} at the rate of the last three hours`;
  }
}
