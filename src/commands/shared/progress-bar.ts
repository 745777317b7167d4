import { type Clock, systemClock } from '../../core/clock.ts';
import { clipToWidth } from '../../reports/formats/table.ts';
import type { TextOutput } from './cli-context.ts';

const REDRAW_MS = 100;
const CELLS = 30;
const ERASE_LINE = '\r\x1b[K';

export class ProgressBar {
  readonly #output: TextOutput;
  readonly #label: string;
  readonly #clock: Clock;
  #done = 0;
  #total = 1;
  #unit: string;
  #drawnAtMs = 0;
  #stopped = false;

  constructor(output: TextOutput, label: string, unit: string, clock: Clock = systemClock) {
    this.#output = output;
    this.#label = label;
    this.#clock = clock;
    this.#unit = unit;
    this.draw();
  }

  update(done: number, total: number, unit = this.#unit): void {
    this.#done = done;
    this.#total = Math.max(1, total);
    this.#unit = unit;
    const nowMs = this.#clock.monotonic();
    if (this.#stopped || nowMs - this.#drawnAtMs < REDRAW_MS) return;
    this.#drawnAtMs = nowMs;
    this.draw();
  }

  erase(): void {
    if (!this.#stopped) this.#output.write(ERASE_LINE);
  }

  draw(): void {
    if (this.#stopped) return;
    const full = Math.round(Math.min(1, this.#done / this.#total) * CELLS);
    const cells = '█'.repeat(full) + '░'.repeat(CELLS - full);
    const text = `${this.#label}  ${cells} ${this.#done}/${this.#total} ${this.#unit}`;
    // The last column stays free: some terminals break the line there.
    this.#output.write(`${ERASE_LINE}${clipToWidth(text, Math.max(20, (this.#output.columns || 80) - 1))}`);
  }

  stop(): void {
    this.erase();
    this.#stopped = true;
  }
}
