import type { Clock } from '../core/clock.ts';

export interface ReportedHealthOptions {
  clock: Pick<Clock, 'monotonic'>;
  /**
   * `state`: a change is reported only between failing and healthy; `detail`: another description of the failure is
   * reported, too.
   */
  compareBy: 'state' | 'detail';
  /** An unchanged health is reported again after this time; 0: each time that it is determined; null: never. */
  repeatMs: number | null;
  /** Raises the alert about the job; null ends the alert. Returns false if this could not be recorded. */
  report(detail: string | null): Promise<boolean>;
}

/**
 * Reports each change of a job's health once. The first health is always reported, because a previous daemon may have
 * left the alert open. A report that fails is repeated with the next health.
 */
export class ReportedHealth {
  readonly #options: ReportedHealthOptions;
  #reported: string | null | undefined;
  #reportedMs = 0;

  constructor(options: ReportedHealthOptions) {
    this.#options = options;
  }

  /** True if the alert is open; null before the first report. */
  get isFailing(): boolean | null {
    return this.#reported === undefined ? null : this.#reported !== null;
  }

  #isChanged(detail: string | null): boolean {
    return this.#options.compareBy === 'detail' ? detail !== this.#reported : (detail !== null) !== this.isFailing;
  }

  /** Reports the health if it has changed or has to be repeated. Returns false if the report could not be recorded. */
  async report(detail: string | null): Promise<boolean> {
    const { clock, repeatMs, report } = this.#options;
    const isRepeated = repeatMs !== null && clock.monotonic() - this.#reportedMs >= repeatMs;
    if (!this.#isChanged(detail) && !isRepeated) return true;
    const isRecorded = await report(detail);
    if (isRecorded) this.note(detail);
    return isRecorded;
  }

  /** Remembers a health that was reported without calling `report`. */
  note(detail: string | null): void {
    this.#reported = detail;
    this.#reportedMs = this.#options.clock.monotonic();
  }
}
