import { AppError } from '../core/errors.ts';

/** A run that stages no page for so long is not going to end. */
const IDLE_MS = 5 * 60_000;

export interface RunDeadline {
  /** Aborts with a retryable `run_timeout` when the run takes too long, or makes no progress for too long. */
  readonly signal: AbortSignal;
  /** To be called at each sign of progress. */
  progress(): void;
  /** Lets no time pass while this is waited for; both begin anew then. */
  hold(waiting: Promise<void>): Promise<void>;
  stop(): void;
}

/** Bounds how long a run may take, and how long it may go on without progress. Times in milliseconds. */
export function startRunDeadline(runMs: number, idleMs = IDLE_MS): RunDeadline {
  const controller = new AbortController();
  let held = 0;
  const end = (what: string): void => {
    // What is held begins anew when it goes on.
    if (held > 0) return;
    const hint = 'nothing was published, the slot is tried again; run_minutes bounds how long a run may take';
    controller.abort(new AppError('run_timeout', what, { retryable: true, hint }));
  };
  const whole = setTimeout(() => end(`the run took longer than ${inMinutes(runMs)}`), runMs);
  const idle = setTimeout(() => end(`no page arrived for ${inMinutes(idleMs)}`), idleMs);
  return {
    signal: controller.signal,
    progress: () => void idle.refresh(),
    async hold(waiting) {
      held += 1;
      try {
        await waiting;
      } finally {
        held -= 1;
        whole.refresh();
        idle.refresh();
      }
    },
    stop() {
      clearTimeout(whole);
      clearTimeout(idle);
    },
  };
}

function inMinutes(ms: number): string {
  return ms < 60_000 ? `${ms} ms` : `${Math.round(ms / 60_000)} minutes`;
}
