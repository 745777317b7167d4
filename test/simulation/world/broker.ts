import type { Clock } from '../../../src/core/clock.ts';
import { RedisUnavailableError, StoppingError } from '../../../src/queue/errors.ts';
import type { SyncHandler, SyncJob } from '../../../src/queue/jobs.ts';
import type { QueueCounts, SyncQueue } from '../../../src/queue/sync-queue.ts';
import type { Random } from '../../support/random.ts';
import type { SimulatedProcess } from './process.ts';

/** A job whose holder says nothing for so long is handed out again, as BullMQ does. */
const LOCK_MS = 60_000;

const AWAY = { code: 'AWAY', reason: 'it is away', hint: 'start it' };

interface BrokerJob {
  job: SyncJob;
  /** Since when it has waited, or run. */
  sinceMs: number;
  holder: Worker | null;
  /** Its holder is done and could not say so. */
  unsaid: boolean;
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
  readonly #random: Random;
  /** Jobs that wait or run, by their workspace. */
  readonly #jobs = new Map<string, BrokerJob>();
  readonly #workers = new Set<Worker>();
  #up = true;
  #awaySinceMs = 0;

  constructor(clock: Clock, random: Random) {
    this.#clock = clock;
    this.#random = random;
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
      if (!this.#up) throw new RedisUnavailableError('the simulated queue', AWAY);
      return work();
    };
    const isUp = (): boolean => this.#up;
    return {
      start: (handle) => {
        worker.handle = handle;
        this.handOut();
      },
      addSync: (job) => ask(() => this.#add(job)),
      counts: () => ask(() => this.#counts()),
      waitingSyncs: () =>
        ask(
          () =>
            new Map([...this.#jobs.values()].filter(isWaiting).map(({ job, sinceMs }) => [job.workspaceId, sinceMs])),
        ),
      ping: () => ask(() => 1),
      get redisFault() {
        return isUp() ? null : AWAY;
      },
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
      for (const job of this.#jobs.values()) if (job.holder === worker) this.#stall(job, () => true);
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
    if (away === this.away) return;
    this.#up = !away;
    if (away) {
      this.#awaySinceMs = this.#clock.monotonic();
      return;
    }
    const outlived = this.#clock.monotonic() - this.#awaySinceMs > LOCK_MS;
    for (const [mark, job] of this.#jobs) {
      // Nobody could renew its lock.
      if (outlived) job.holder = null;
      else if (job.unsaid) this.#jobs.delete(mark);
    }
    for (const { listeners, process } of this.#workers) for (const listener of listeners) process.deliver(listener);
    this.handOut();
  }

  /** Since when a job of the workspace has waited or run; null when there is none. */
  jobSinceMs(workspaceId: string): number | null {
    return this.#jobs.get(workspaceId)?.sinceMs ?? null;
  }

  /** The locks of all running jobs have run out: other workers take them up although the first go on. */
  loseLocks(): void {
    for (const job of this.#jobs.values()) job.holder = null;
    this.handOut();
  }

  /** The process stands still: so do the locks of its jobs, until it goes on or others take them up. */
  stallJobsOf(process: SimulatedProcess): void {
    for (const job of this.#jobs.values())
      if (job.holder?.process === process) this.#stall(job, () => process.frozen || !process.alive);
  }

  #stall(job: BrokerJob, isStalled: () => boolean): void {
    const { holder } = job;
    this.#clock.after(LOCK_MS, () => {
      if (job.holder === holder && isStalled()) this.#release(job);
    });
  }

  #release(job: BrokerJob): void {
    job.holder = null;
    this.handOut();
  }

  #add(job: SyncJob): 'added' | 'exists' {
    const mark = job.workspaceId;
    if (this.#jobs.has(mark)) return 'exists';
    this.#jobs.set(mark, { job, sinceMs: this.#clock.now(), holder: null, unsaid: false });
    this.#clock.after(1, () => this.handOut());
    return 'added';
  }

  #counts(): QueueCounts {
    const jobs = [...this.#jobs.values()];
    const waiting = jobs.filter(isWaiting).length;
    return { waiting, active: jobs.length - waiting, delayed: 0, completed: 0, failed: 0 };
  }

  /** Gives each job whose time has come to somebody who has room for it. */
  handOut(): void {
    if (!this.#up) return;
    for (const [mark, job] of this.#jobs) {
      if (job.holder !== null) continue;
      const free = [...this.#workers].filter(isFree);
      if (free.length === 0) return;
      const worker = this.#random.pick(free);
      Object.assign(job, { holder: worker, unsaid: false, sinceMs: this.#clock.now() });
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
      if (!this.#up) job.unsaid = true;
      else if (signal.aborted) this.#release(job);
      else this.#jobs.delete(mark);
      this.handOut();
    });
  }
}

function isFree({ handle, process, running, concurrency }: Worker): boolean {
  return handle !== null && process.alive && !process.frozen && running.size < concurrency;
}

function isWaiting({ holder }: BrokerJob): boolean {
  return holder === null;
}
