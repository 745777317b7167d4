import { type Clock, systemClock } from '../../core/clock.ts';

/** A request that reads many rows lets other requests wait no longer than this. */
const MAX_TURN_MS = 10;

/** Splits long work of the main thread into short turns, between which the event loop does other work. */
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

  /** Ends a turn: lets the event loop do other work, then starts the next turn. */
  async next(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    this.#startMs = this.#clock.monotonic();
  }
}

/** Reads up to `limit` rows in short turns of the event loop. */
export async function takeRowsInTurns<Row>(rows: Iterable<Row>, limit: number, turns: Turns): Promise<Row[]> {
  const found: Row[] = [];
  for (const row of rows) {
    found.push(row);
    if (found.length === limit) break;
    if (turns.isOver()) await turns.next();
  }
  return found;
}
