import type { SyncProgress } from '../../sync/run.ts';
import type { CliContext } from './cli-context.ts';

/** Shows how far something is, where a person looks; silent elsewhere. */
export interface ProgressView<Progress> {
  onProgress(progress: Progress): void;
  stop(): void;
}

export function createProgressView(cli: CliContext, label: string): Promise<ProgressView<SyncProgress>> {
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
