import { every } from '../../core/clock.ts';
import { inertText } from '../../core/text/inert-text.ts';
import { firstOf } from '../../core/text/words.ts';
import type { SyncProgress } from '../../sync/run.ts';
import type { CliContext } from './cli-context.ts';

interface ProgressView<Progress> {
  onProgress(progress: Progress): void;
  stop(): void;
}

function createProgressView(cli: CliContext, label: string): Promise<ProgressView<SyncProgress>> {
  return startBar(cli, label, 'pages', (bar, { walk, pages, totalPages }: SyncProgress) =>
    bar.update(pages, totalPages, `pages, walk ${walk}`),
  );
}

export function createReplayView(
  cli: CliContext,
  label: string,
): Promise<ProgressView<{ runs: number; totalRuns: number }>> {
  return startBar(cli, label, 'runs', (bar, { runs, totalRuns }: { runs: number; totalRuns: number }) =>
    bar.update(runs, totalRuns),
  );
}

export function createStatementsView(
  cli: CliContext,
  label: string,
): Promise<ProgressView<{ done: number; total: number }>> {
  return startBar(cli, label, 'statements', (bar, { done, total }: { done: number; total: number }) =>
    bar.update(done, total),
  );
}

/** A bar on stderr where somebody looks; elsewhere its code is not even loaded. */
async function startBar<Progress>(
  cli: CliContext,
  label: string,
  unit: string,
  show: (bar: Pick<import('./progress-bar.ts').ProgressBar, 'update'>, progress: Progress) => void,
): Promise<ProgressView<Progress>> {
  const { stderr } = cli.io;
  if (stderr.isTTY !== true) return { onProgress: () => undefined, stop: () => undefined };
  const { ProgressBar } = await import('./progress-bar.ts');
  const bar = new ProgressBar(stderr, label, unit, cli.clock);
  const release = cli.giveWay(bar);
  return {
    onProgress: (progress) => show(bar, progress),
    stop() {
      release();
      bar.stop();
    },
  };
}

const NOTE_INTERVAL_MS = 10_000;
/** More workspaces than this are counted instead of named. */
const NAMED = 5;

interface FleetView {
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
