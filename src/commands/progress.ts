import type { SyncProgress } from '../sync/run.ts';
import type { CliContext } from './cli-context.ts';

/** Shows how far a sync is, where a person looks; silent elsewhere. */
export interface ProgressView {
  onProgress(progress: SyncProgress): void;
  stop(): void;
}

export async function createProgressView(cli: CliContext, label: string): Promise<ProgressView> {
  const { stderr } = cli.io;
  if (stderr.isTTY !== true || !isStream(stderr)) return { onProgress: () => undefined, stop: () => undefined };
  const { default: cliProgress } = await import('cli-progress');
  const bar = new cliProgress.SingleBar({
    format: `${label}  {bar} {value}/{total} pages, walk {walk}`,
    stream: stderr,
    hideCursor: true,
    clearOnComplete: true,
    fps: 10,
  });
  bar.start(1, 0, { walk: 1 });
  return {
    onProgress: ({ walk, pages, totalPages }) => {
      bar.setTotal(Math.max(1, totalPages));
      bar.update(pages, { walk });
    },
    stop: () => bar.stop(),
  };
}

function isStream(output: object): output is NodeJS.WriteStream {
  return 'clearLine' in output;
}
