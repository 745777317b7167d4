import type { Clock } from '../core/clock.ts';

export interface ReportedHealthOptions {
  clock: Pick<Clock, 'monotonic'>;
  /** `state`: only failing and healthy differ; `detail`: another description is reported, too. */
  compareBy: 'state' | 'detail';
  /** An unchanged state is reported again after this time, with 0 at every report; null: never. */
  repeatMs: number | null;
  /** Raises the alert about the job; null ends the alert. Returns false if this could not be recorded. */
  report(detail: string | null): Promise<boolean>;
}

/**
 * The health of a job as last reported. Reports each change once. The first health is reported in any case, because a
 * previous daemon may have left the alert open. A report that fails is repeated with the next health.
 */
export class ReportedHealth {
  readonly #options: ReportedHealthOptions;
  #reported: string | null | undefined;
  #reportedMs = 0;

  constructor(options: ReportedHealthOptions) {
    this.#options = options;
  }

  /** Whether the alert is open; null until the first report. */
  get isFailing(): boolean | null {
    return this.#reported === undefined ? null : this.#reported !== null;
  }

  #isChanged(detail: string | null): boolean {
    return this.#options.compareBy === 'detail' ? detail !== this.#reported : (detail !== null) !== this.isFailing;
  }

  /** Reports the health if it has changed. Returns false if it could not be recorded. */
  async report(detail: string | null): Promise<boolean> {
    const { clock, repeatMs, report } = this.#options;
    const isRepeated = repeatMs !== null && clock.monotonic() - this.#reportedMs >= repeatMs;
    if (!this.#isChanged(detail) && !isRepeated) return true;
    const isRecorded = await report(detail);
    if (isRecorded) this.note(detail);
    return isRecorded;
  }

  /** Remembers a health that was reported in another way. */
  note(detail: string | null): void {
    this.#reported = detail;
    this.#reportedMs = this.#options.clock.monotonic();
  }
}
