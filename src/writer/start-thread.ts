import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import { siblingModule } from '../core/process/module-file.ts';

/** The writer's thread. It loads its code at once, so that the sooner it is started the sooner it can open a ledger. */
export interface StartedThread {
  readonly worker: Worker;
  /** This thread's end of the channel on which the writer asks what the ledger holds, and how many answers were sent. */
  readonly reads: MessagePort;
  readonly readsSent: Int32Array<SharedArrayBuffer>;
  /** What ended it; null when nothing failed. */
  readonly ended: Promise<Error | null>;
}

/** Starts it; it does not keep the process alive until it is put to use. Imports nothing that takes long to load. */
export function startThread(): StartedThread {
  const { port1: reads, port2: port } = new MessageChannel();
  const readsSent = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const worker = new Worker(siblingModule(import.meta.url, 'writer-thread'), {
    workerData: { port, sent: readsSent },
    transferList: [port],
    // Pages that have been staged are let go of before many lie about, as by pm2's setting for the daemon.
    resourceLimits: { maxYoungGenerationSizeMb: 12 },
  });
  worker.unref();
  const ended = new Promise<Error | null>((resolve) => {
    worker.on('error', resolve);
    worker.once('exit', () => resolve(null));
  });
  return { worker, reads, readsSent, ended };
}
