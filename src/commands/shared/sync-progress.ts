import { every } from '../../core/clock.ts';
import { firstOf } from '../../core/text/first-of.ts';
import { inertText } from '../../core/text/inert-text.ts';
import type { SyncProgress } from '../../sync/run.ts';
import type { CliContext } from './cli-context.ts';
import { createProgressView, type ProgressView } from './progress.ts';

const NOTE_INTERVAL_MS = 10_000;
/** More workspaces than this are counted instead of named. */
const NAMED = 5;

export interface FleetView {
  /** To be called when a run begins; shows how far it is until it is stopped. */
  begin(workspaceId: string): Promise<ProgressView<SyncProgress>>;
  stop(): void;
}

/**
 * Shows how far several runs at once are: a bar for one at a time where a person looks; else what is waited for, every
 * ten seconds on stderr.
 */
export function createFleetView(cli: CliContext, oneAtATime: boolean): FleetView {
  if (oneAtATime && cli.io.stderr.isTTY === true) {
    return { begin: (workspaceId) => createProgressView(cli, inertText(workspaceId)), stop: () => undefined };
  }
  const running = new Map<string, SyncProgress | null>();
  const stop = every(cli.clock, NOTE_INTERVAL_MS, () => {
    if (running.size > 0) cli.note(`waiting for ${describe([...running])}`);
  });
  return {
    async begin(workspaceId) {
      running.set(workspaceId, null);
      return {
        onProgress: (progress) => running.set(workspaceId, progress),
        stop: () => running.delete(workspaceId),
      };
    },
    stop,
  };
}

function describe(running: readonly [id: string, progress: SyncProgress | null][]): string {
  const named = running.slice(0, NAMED).map(([id, progress]) => {
    const where = progress === null ? 'first page' : `page ${progress.pages} of ${progress.totalPages}`;
    return `${inertText(id)} (${where})`;
  });
  return firstOf(named, NAMED, running.length);
}
