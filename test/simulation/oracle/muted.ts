import type { Received } from '../world/receiver.ts';
import { PromiseBroken } from './fault.ts';
import { wordsIn } from './messages.ts';
import type { ToldMoment } from './told.ts';

/** Somebody has silenced a workspace, all of it but our own faults; or a plan mutes what grows there. */
interface Mute {
  kind: string;
  /** Of a plan. */
  upToCredits: number;
  workspaceId: string;
  fromMs: number;
  untilMs: number;
}

/** As documented: those are muted by their full name alone. */
const OURS = ['sync_stale', 'sync_failed', 'job_failed'];
const OF_GROWTH = ['jump', 'new_spend', 'workspace_jump'];
const BEGINNINGS: readonly string[] = ['opened', 'again', 'worse', 'grown', 'reminder'];

/** What is known when a message arrives. */
export interface MutedMoment extends Pick<ToldMoment, 'madeMs' | 'clocksRightSinceMs' | 'isLeftBehind'> {
  /** Since when a workspace is in its ledger. */
  hasSinceMs(workspaceId: string): number;
}

/** Of what is silenced, or grows as far as was planned, no receiver hears that it begins or grows. */
export class MutedOracle {
  readonly #mutes: Mute[] = [];

  /** Takes note of what was typed. What is said where the workspace was exported from does not go along. */
  typed(argv: readonly string[], nowMs: number, isOurs: (workspaceId: string) => boolean): void {
    const [, kind = '', ...options] = argv;
    const given = (option: string): string => options[options.indexOf(option) + 1] ?? '';
    if ((kind !== 'silence' && kind !== 'plan') || !isOurs(given('--workspace'))) return;
    const untilMs = Date.parse(given('--until'));
    const upToCredits = Number(given('--up-to'));
    this.#mutes.push({ kind, upToCredits, workspaceId: given('--workspace'), fromMs: nowMs, untilMs });
  }

  /** When the last mute ends of one workspace, or of all; 0 when there was none. */
  lastEndMs(workspaceId: string | null): number {
    const ends = this.#mutes.filter((mute) => mute.workspaceId === (workspaceId ?? mute.workspaceId));
    return Math.max(0, ...ends.map(({ untilMs }) => untilMs));
  }

  /** A ledger tells what waits in it of a workspace that it has given away: nobody says there any more what is muted. */
  check({ channel, payload }: Received, { madeMs, clocksRightSinceMs, isLeftBehind, hasSinceMs }: MutedMoment): void {
    for (const { workspace_id, rule = '', event = '', credits, summary } of wordsIn(payload)) {
      if (OURS.includes(rule) || !BEGINNINGS.includes(event)) continue;
      const used = credits?.current ?? Number.POSITIVE_INFINITY;
      const mute = this.#mutes.find(({ kind, upToCredits, workspaceId, fromMs, untilMs }) => {
        const isMeant = kind === 'silence' || (OF_GROWTH.includes(rule) && used <= upToCredits);
        if (!isMeant || workspaceId !== workspace_id) return false;
        const isSaidElsewhere = isLeftBehind && fromMs >= hasSinceMs(workspaceId);
        return fromMs < madeMs && madeMs < untilMs && clocksRightSinceMs <= fromMs && !isSaidElsewhere;
      });
      if (mute !== undefined)
        throw new PromiseBroken(
          'of what is muted nobody hears that it begins',
          `${channel}: ${rule} ${event} ${summary}`,
        );
    }
  }
}
