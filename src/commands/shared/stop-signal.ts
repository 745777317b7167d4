import { AppError } from '../../core/errors.ts';

/**
 * Runs `work` with a signal that aborts on the first Ctrl-C or SIGTERM, so that it can end cleanly; the second one
 * ends the process at once.
 */
export async function withStopSignal<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const stop = new AbortController();
  const onSignal = (name: NodeJS.Signals): void => {
    if (stop.signal.aborted) process.exit(130);
    stop.abort(new AppError('cancelled', `stopped by ${name}; nothing half-done was kept`));
  };
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  try {
    return await work(stop.signal);
  } finally {
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
  }
}
