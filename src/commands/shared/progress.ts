import { type Clock, every, systemClock } from '../../core/clock.ts';
import { inertText } from '../../core/text/inert-text.ts';
import { firstOf } from '../../core/text/words.ts';
import { clipToWidth } from '../../reports/formats/table.ts';
import type { CliContext, TextOutput } from './cli-context.ts';

interface Progress {
  update(done: number, total: number, unit?: string): void;
  stop(): void;
}

/** Starts a progress bar on stderr; without a terminal it shows nothing. */
export async function startProgress(cli: CliContext, label: string, unit: string): Promise<Progress> {
  const { stderr } = cli.io;
  if (stderr.isTTY !== true) return { update: () => undefined, stop: () => undefined };
  const bar = new ProgressBar(stderr, label, unit, cli.clock);
  const release = cli.attachProgressLine(bar);
  return {
    update: (...progress) => bar.update(...progress),
    stop() {
      release();
      bar.stop();
    },
  };
}

const NOTE_INTERVAL_MS = 10_000;
const MAX_NAMED_RUNS = 5;

interface FleetView {
  begin(workspaceId: string): Promise<Progress>;
  stop(): void;
}

/**
 * Shows the progress of runs. If they run one at a time, a terminal gets a progress bar. Otherwise a line on stderr
 * names the workspaces that are still running, every ten seconds.
 */
export function createRunProgress(cli: CliContext, oneAtATime: boolean): FleetView {
  if (oneAtATime && cli.io.stderr.isTTY === true) {
    return { begin: (workspaceId) => startProgress(cli, inertText(workspaceId), 'pages'), stop: () => undefined };
  }
  const running = new Map<string, string>();
  const stop = every(cli.clock, NOTE_INTERVAL_MS, () => {
    if (running.size > 0) cli.note(`waiting for ${describeRunning([...running])}`);
  });
  return {
    async begin(workspaceId) {
      running.set(workspaceId, 'first page');
      return {
        update: (page, pages) => void running.set(workspaceId, `page ${page} of ${pages}`),
        stop: () => void running.delete(workspaceId),
      };
    },
    stop,
  };
}

function describeRunning(running: readonly [id: string, where: string][]): string {
  const named = running.slice(0, MAX_NAMED_RUNS).map(([id, where]) => `${inertText(id)} (${where})`);
  return firstOf(named, MAX_NAMED_RUNS, running.length);
}

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
    const filled = Math.round(Math.min(1, this.#done / this.#total) * CELLS);
    const cells = '█'.repeat(filled) + '░'.repeat(CELLS - filled);
    const text = `${this.#label}  ${cells} ${this.#done}/${this.#total} ${this.#unit}`;
    // The last column stays empty, because some terminals wrap there.
    this.#output.write(`${ERASE_LINE}${clipToWidth(text, Math.max(20, (this.#output.columns || 80) - 1))}`);
  }

  stop(): void {
    this.erase();
    this.#stopped = true;
  }
}
