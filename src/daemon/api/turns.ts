import { type Clock, systemClock } from '../../core/clock.ts';

/** Other requests wait no longer than this for one that reads many rows. */
const MAX_TURN_MS = 10;

/** Splits long work of the main thread into turns of the event loop. */
export class Turns {
  readonly #clock: Pick<Clock, 'monotonic'>;
  #startMs: number;

  constructor(clock: Pick<Clock, 'monotonic'> = systemClock) {
    this.#clock = clock;
    this.#startMs = clock.monotonic();
  }

  isOver(): boolean {
    return this.#clock.monotonic() - this.#startMs > MAX_TURN_MS;
  }

  /** Lets the event loop turn. */
  async next(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    this.#startMs = this.#clock.monotonic();
  }
}

/** Reads up to `limit` rows, in turns. */
export async function takeRowsInTurns<Row>(rows: Iterable<Row>, limit: number, turns: Turns): Promise<Row[]> {
  const found: Row[] = [];
  for (const row of rows) {
    found.push(row);
    if (found.length === limit) break;
    if (turns.isOver()) await turns.next();
  }
  return found;
}
