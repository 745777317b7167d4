import { setTimeout as sleep } from 'node:timers/promises';

/** Repeats an expectation until it holds; after the deadline its own failure is thrown. */
export async function eventually(expectation: () => unknown, deadlineMs = 30_000): Promise<void> {
  const end = performance.now() + deadlineMs;
  for (;;) {
    try {
      await expectation();
      return;
    } catch (error) {
      if (performance.now() > end) throw error;
      await sleep(50);
    }
  }
}
