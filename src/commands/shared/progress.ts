import type { SingleBar } from 'cli-progress';
import type { SyncProgress } from '../../sync/run.ts';
import type { CliContext } from './cli-context.ts';

/** Shows how far something is, where a person looks; silent elsewhere. */
export interface ProgressView<Progress> {
  onProgress(progress: Progress): void;
  stop(): void;
}

export async function createProgressView(cli: CliContext, label: string): Promise<ProgressView<SyncProgress>> {
  const bar = await startBar(cli, `${label}  {bar} {value}/{total} pages, walk {walk}`, { walk: 1 });
  return {
    onProgress: ({ walk, pages, totalPages }) => {
      bar?.setTotal(Math.max(1, totalPages));
      bar?.update(pages, { walk });
    },
    stop: () => bar?.stop(),
  };
}

export async function createReplayView(
  cli: CliContext,
  label: string,
): Promise<ProgressView<{ runs: number; totalRuns: number }>> {
  const bar = await startBar(cli, `${label}  {bar} {value}/{total} runs`, {});
  return {
    onProgress: ({ runs, totalRuns }) => {
      bar?.setTotal(totalRuns);
      bar?.update(runs);
    },
    stop: () => bar?.stop(),
  };
}

/** A bar on stderr; null where nobody looks, and there its library is not even loaded. */
async function startBar(cli: CliContext, format: string, payload: object): Promise<SingleBar | null> {
  const { stderr } = cli.io;
  if (stderr.isTTY !== true || !isStream(stderr)) return null;
  const { default: cliProgress } = await import('cli-progress');
  const bar = new cliProgress.SingleBar({ format, stream: stderr, hideCursor: true, clearOnComplete: true, fps: 10 });
  bar.start(1, 0, payload);
  return bar;
}

function isStream(output: object): output is NodeJS.WriteStream {
  return 'clearLine' in output;
}
