import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import { siblingModule } from '../core/process/module-file.ts';

/** The writer's thread. It loads its code immediately, so an early start lets it open a ledger sooner. */
export interface StartedThread {
  readonly worker: Worker;
  /** This thread's end of the channel for the writer's reads, and the number of answers sent. */
  readonly reads: MessagePort;
  readonly readsSent: Int32Array<SharedArrayBuffer>;
  /** The error that ended the thread; null when it did not fail. */
  readonly ended: Promise<Error | null>;
}

/** Starts the thread, which does not keep the process alive until it is used. Imports nothing that is slow to load. */
export function startThread(): StartedThread {
  const { port1: reads, port2: port } = new MessageChannel();
  const readsSent = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const worker = new Worker(siblingModule(import.meta.url, 'writer-thread'), {
    workerData: { port, sent: readsSent },
    transferList: [port],
    // Frees staged pages early, like pm2's setting for the daemon.
    resourceLimits: { maxYoungGenerationSizeMb: 12 },
  });
  worker.unref();
  const ended = new Promise<Error | null>((resolve) => {
    worker.on('error', resolve);
    worker.once('exit', () => resolve(null));
  });
  return { worker, reads, readsSent, ended };
}
