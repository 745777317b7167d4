import type { Received } from '../world/receiver.ts';
import { PromiseBroken } from './fault.ts';
import { wordsIn } from './messages.ts';

/** Somebody has silenced a workspace, all of it but our own faults. */
interface Silence {
  workspaceId: string;
  fromMs: number;
  untilMs: number;
}

/** As documented: those are muted by their full name alone. */
const OURS = ['sync_stale', 'sync_failed', 'job_failed'];
const BEGINNINGS: readonly string[] = ['opened', 'again', 'worse', 'grown', 'reminder'];

/** Of what is silenced no receiver hears that it begins or grows. */
export class MutedOracle {
  readonly #silences: Silence[] = [];

  silenced(silence: Silence): void {
    this.#silences.push(silence);
  }

  /** `madeMs` is when the message was written down, `clocksRightSinceMs` since when no clock has been wrong. */
  check({ channel, payload }: Received, madeMs: number, clocksRightSinceMs: number): void {
    for (const { workspace_id, rule = '', event = '', summary } of wordsIn(payload)) {
      if (OURS.includes(rule) || !BEGINNINGS.includes(event)) continue;
      const mute = this.#silences.find(({ workspaceId, fromMs, untilMs }) => {
        return workspaceId === workspace_id && fromMs < madeMs && madeMs < untilMs && clocksRightSinceMs <= fromMs;
      });
      if (mute !== undefined)
        throw new PromiseBroken(
          'of what is muted nobody hears that it begins',
          `${channel}: ${rule} ${event} ${summary}`,
        );
    }
  }
}
