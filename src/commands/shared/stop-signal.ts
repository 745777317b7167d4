import { STOP_EXIT_CODES, StoppedError } from './cli-context.ts';

/**
 * Runs `work` with a signal that aborts on the first Ctrl-C or SIGTERM, so that it can end cleanly; the second one
 * ends the process at once. Whatever the work throws then, the caller gets a StoppedError.
 */
export async function withStopSignal<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const stop = new AbortController();
  const onSignal = (name: keyof typeof STOP_EXIT_CODES): void => {
    if (stop.signal.aborted) process.exit(STOP_EXIT_CODES[name]);
    stop.abort(new StoppedError(name));
  };
  const onInterrupt = (): void => onSignal('SIGINT');
  const onTerminate = (): void => onSignal('SIGTERM');
  process.on('SIGINT', onInterrupt).on('SIGTERM', onTerminate);
  try {
    return await work(stop.signal);
  } catch (error) {
    throw stop.signal.aborted ? stop.signal.reason : error;
  } finally {
    process.off('SIGINT', onInterrupt).off('SIGTERM', onTerminate);
  }
}
