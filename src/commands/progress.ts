import cliProgress from 'cli-progress';
import type { SyncProgress } from '../sync/run.ts';
import type { CliContext } from './cli-context.ts';

/** Shows how far something is, where a person looks; silent elsewhere. */
export interface ProgressView<Progress> {
  onProgress(progress: Progress): void;
  stop(): void;
}

export function createProgressView(cli: CliContext, label: string): ProgressView<SyncProgress> {
  const bar = startBar(cli, `${label}  {bar} {value}/{total} pages, walk {walk}`, { walk: 1 });
  return {
    onProgress: ({ walk, pages, totalPages }) => {
      bar?.setTotal(Math.max(1, totalPages));
      bar?.update(pages, { walk });
    },
    stop: () => bar?.stop(),
  };
}

export function createReplayView(cli: CliContext, label: string): ProgressView<{ runs: number; totalRuns: number }> {
  const bar = startBar(cli, `${label}  {bar} {value}/{total} runs`, {});
  return {
    onProgress: ({ runs, totalRuns }) => {
      bar?.setTotal(totalRuns);
      bar?.update(runs);
    },
    stop: () => bar?.stop(),
  };
}

/** A bar on stderr; null where nobody looks. */
function startBar(cli: CliContext, format: string, payload: object): cliProgress.SingleBar | null {
  const { stderr } = cli.io;
  if (stderr.isTTY !== true || !isStream(stderr)) return null;
  const bar = new cliProgress.SingleBar({ format, stream: stderr, hideCursor: true, clearOnComplete: true, fps: 10 });
  bar.start(1, 0, payload);
  return bar;
}

function isStream(output: object): output is NodeJS.WriteStream {
  return 'clearLine' in output;
}
