import type { Clock } from '../../../src/core/clock.ts';
import { RedisUnavailableError, StoppingError } from '../../../src/queue/errors.ts';
import type { SyncHandler, SyncJob } from '../../../src/queue/jobs.ts';
import type { QueueCounts, SyncQueue } from '../../../src/queue/sync-queue.ts';
import type { SimulatedProcess } from './process.ts';

/** A job whose holder says nothing for so long is handed out again, as BullMQ does. */
const STALLED_MS = 60_000;

interface BrokerJob {
  job: SyncJob;
  sinceMs: number;
  holder: Worker | null;
}

interface Worker {
  process: SimulatedProcess;
  handle: SyncHandler | null;
  concurrency: number;
  running: Set<Promise<unknown>>;
  stopper: AbortController;
  listeners: Set<() => void>;
}

/**
 * What BullMQ and Redis promise, in memory and on the world's clock: one open job a workspace, handed out to one worker at a
 * time, and again when the worker that has it is gone.
 */
export class Broker {
  readonly #clock: Clock;
  /** Jobs that wait or run, by their workspace. */
  readonly #jobs = new Map<string, BrokerJob>();
  readonly #workers = new Set<Worker>();
  #up = true;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The queue as one process has it. */
  connect(process: SimulatedProcess, concurrency: number): SyncQueue {
    const worker: Worker = {
      ...{ process, concurrency, handle: null, running: new Set(), listeners: new Set() },
      stopper: new AbortController(),
    };
    this.#workers.add(worker);
    const ask = async <T>(work: () => T): Promise<T> => {
      await new Promise<void>((resolve) => this.#clock.after(1, () => process.deliver(resolve)));
      if (!this.#up) throw new RedisUnavailableError('the simulated queue', 'it is away');
      return work();
    };
    const isUp = (): boolean => this.#up;
    return {
      start: (handle) => {
        worker.handle = handle;
        this.#handOut();
      },
      addSync: (job) => ask(() => this.#add(job)),
      counts: () => ask(() => this.#counts()),
      waitingSyncs: () =>
        ask(
          () =>
            new Map([...this.#jobs.values()].filter(isWaiting).map(({ job, sinceMs }) => [job.workspaceId, sinceMs])),
        ),
      takeTurns: async (_host, wanted) => ({ granted: wanted, waitMs: 0 }),
      ping: () => ask(() => 1),
      get redisUp() {
        return isUp();
      },
      onRedisBack: (listener) => {
        worker.listeners.add(listener);
        return () => worker.listeners.delete(listener);
      },
      queues: [],
      stop: async () => {
        worker.handle = null;
        worker.stopper.abort(new StoppingError());
        await Promise.allSettled(worker.running);
        this.#workers.delete(worker);
        return true;
      },
    };
  }

  /** The process is gone: what it had in hand stalls. */
  disconnect(process: SimulatedProcess): void {
    for (const worker of this.#workers) {
      if (worker.process !== process) continue;
      this.#workers.delete(worker);
      for (const job of this.#jobs.values()) if (job.holder === worker) this.#stall(job);
    }
  }

  /** All jobs are gone, as by FLUSHALL. */
  loseEverything(): void {
    this.#jobs.clear();
  }

  get away(): boolean {
    return !this.#up;
  }

  setAway(away: boolean): void {
    this.#up = !away;
    if (away) return;
    for (const { listeners, process } of this.#workers) for (const listener of listeners) process.deliver(listener);
    this.#handOut();
  }

  /** The locks of all running jobs run out: other workers take them up although the first go on. */
  lockRunsOut(): void {
    for (const job of this.#jobs.values()) if (job.holder !== null) this.#stall(job);
  }

  #stall(job: BrokerJob): void {
    const { holder } = job;
    this.#clock.after(STALLED_MS, () => {
      if (job.holder === holder) this.#release(job);
    });
  }

  #release(job: BrokerJob): void {
    job.holder = null;
    this.#handOut();
  }

  #add(job: SyncJob): 'added' | 'exists' {
    const mark = job.workspaceId;
    if (this.#jobs.has(mark)) return 'exists';
    this.#jobs.set(mark, { job, sinceMs: this.#clock.now(), holder: null });
    this.#clock.after(1, () => this.#handOut());
    return 'added';
  }

  #counts(): QueueCounts {
    const jobs = [...this.#jobs.values()];
    const waiting = jobs.filter(isWaiting).length;
    return { waiting, active: jobs.length - waiting, delayed: 0, completed: 0, failed: 0 };
  }

  #handOut(): void {
    if (!this.#up) return;
    for (const [mark, job] of this.#jobs) {
      if (job.holder !== null) continue;
      const worker = [...this.#workers].find(
        (one) => one.handle !== null && one.process.alive && one.running.size < one.concurrency,
      );
      if (worker === undefined) return;
      job.holder = worker;
      worker.process.deliver(() => this.#begin(worker, mark, job));
    }
  }

  #begin(worker: Worker, mark: string, job: BrokerJob): void {
    const { signal } = worker.stopper;
    const context = { signal, progress: () => undefined };
    const running = (worker.handle?.(job.job, context) ?? Promise.resolve()).catch(() => undefined);
    worker.running.add(running);
    void running.then(() => {
      worker.running.delete(running);
      // Whoever has lost a job cannot end it.
      if (!worker.process.alive || job.holder !== worker || this.#jobs.get(mark) !== job) return;
      if (signal.aborted) this.#release(job);
      else this.#jobs.delete(mark);
      this.#handOut();
    });
  }
}

function isWaiting({ holder }: BrokerJob): boolean {
  return holder === null;
}
