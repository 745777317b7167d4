import { Worker } from 'node:worker_threads';
import { siblingModule } from '../core/process/module-file.ts';

/** The writer's thread. It loads its code as soon as it starts, so a thread started early opens a ledger sooner. */
export interface StartedThread {
  readonly worker: Worker;
  /** The error that ended the thread; null when it did not fail. */
  readonly ended: Promise<Error | null>;
}

/** Starts the writer's thread. Until a writer uses the thread, it does not keep the process alive. */
export function startThread(): StartedThread {
  const worker = new Worker(siblingModule(import.meta.url, 'writer-thread'), {
    // A small young generation makes the collector free staged pages early. The main thread gets the same from pm2.
    resourceLimits: { maxYoungGenerationSizeMb: 12 },
  });
  worker.unref();
  const ended = new Promise<Error | null>((resolve) => {
    worker.on('error', resolve);
    worker.once('exit', () => resolve(null));
  });
  return { worker, ended };
}
