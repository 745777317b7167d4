export interface Stoppable {
  stop(): Promise<void>;
}

/**
 * Stops all parts at the same time, so that several slow parts take no longer than the slowest. Throws the first error
 * after all parts have stopped.
 */
export async function stopAll(parts: readonly Stoppable[]): Promise<void> {
  const results = await Promise.allSettled(parts.map((part) => part.stop()));
  const failed = results.find((result) => result.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}
