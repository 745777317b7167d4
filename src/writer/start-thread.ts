import { Worker } from 'node:worker_threads';
import { siblingModule } from '../core/process/module-file.ts';

/** The writer's thread. It loads its code immediately, so an early start lets it open a ledger sooner. */
export interface StartedThread {
  readonly worker: Worker;
  /** The error that ended the thread; null when it did not fail. */
  readonly ended: Promise<Error | null>;
}

/** Starts the thread, which does not keep the process alive until it is used. Imports nothing that is slow to load. */
export function startThread(): StartedThread {
  const worker = new Worker(siblingModule(import.meta.url, 'writer-thread'), {
    // A small young generation makes the collector free staged pages early. pm2 sets the same for the daemon.
    resourceLimits: { maxYoungGenerationSizeMb: 12 },
  });
  worker.unref();
  const ended = new Promise<Error | null>((resolve) => {
    worker.on('error', resolve);
    worker.once('exit', () => resolve(null));
  });
  return { worker, ended };
}
