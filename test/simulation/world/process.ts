import type { Clock } from '../../../src/core/clock.ts';
import type { LedgerDb } from '../../../src/ledger/store/ledger-db.ts';
import type { Random } from '../../support/random.ts';
import { type DiskFault, diskError, owners, ProcessDied, type StatementOwner } from './statements.ts';
import type { Step } from './steps.ts';

/** A machine: its wall clock may be wrong, and its disk may fail. */
export interface Host {
  name: string;
  /** Added to the world's time. */
  clockOffsetMs: number;
  /** Who has nothing else to do looks at what is due so often. */
  readonly lookMs: number;
  /** How many of its statements that write fail, and how. */
  disk: { fault: DiskFault; probability: number } | null;
  /** Statements that its disk has failed. */
  readonly met: Map<DiskFault, number>;
}

const MESSAGE = /^\s*INSERT INTO deliveries /;
const READS = /^\s*(SELECT|PRAGMA|EXPLAIN|ROLLBACK|WITH)\b/i;

/**
 * One run of the program inside the world. It can die at any statement or timer and then does nothing more: its timers
 * never call, its requests are never answered, its statements throw, and what it had not committed is gone.
 */
export class SimulatedProcess implements StatementOwner {
  readonly name: string;
  readonly host: Host;
  readonly pid: number;
  alive = true;
  /** Its machine goes down with it, and asks what time it is when it is up again. */
  reboots = false;
  /** It stands still. */
  frozen = false;
  #thawedMs = Number.NEGATIVE_INFINITY;
  readonly #held: (() => void)[] = [];
  #diesAfter = Number.POSITIVE_INFINITY;
  readonly #connections = new Set<LedgerDb>();
  readonly #loops = new Set<IterableIterator<unknown>>();
  readonly #world: Clock;
  readonly #random: Random;
  readonly #startedMs: number;
  /** Told once, when it dies. */
  onDeath: (how: string) => void = () => undefined;
  /** Told of each step that it comes to, before it is taken. */
  onStep: (step: Step) => void = () => undefined;

  constructor(name: string, pid: number, host: Host, world: Clock, random: Random) {
    this.name = name;
    this.pid = pid;
    this.host = host;
    this.#world = world;
    this.#random = random;
    this.#startedMs = world.monotonic();
  }

  /** Time as this process has it. */
  readonly clock: Clock = {
    now: () => this.#world.now() + this.host.clockOffsetMs,
    monotonic: () => this.#world.monotonic() - this.#startedMs,
    after: (delayMs, call, { background = false } = {}) =>
      this.#world.after(background && LOOKS_MS.includes(delayMs) ? Math.max(delayMs, this.host.lookMs) : delayMs, () =>
        this.hear(call),
      ),
  };

  /** Calls back in this process: once it is thawed, and never when it is dead. */
  deliver(call: () => void): void {
    if (!this.alive) return;
    if (this.frozen) this.#held.push(call);
    else this.run(call);
  }

  /** The same of what comes from outside: it may die before it hears that. */
  hear(call: () => void): void {
    this.#dieAt('await');
    this.deliver(call);
  }

  /** Does something as this process. */
  run<T>(work: () => T): T {
    return owners.run(this, work);
  }

  /** Stands still until it is thawed: what comes meanwhile waits. */
  freeze(): void {
    this.frozen = true;
  }

  thaw(): void {
    if (!this.frozen) return;
    this.frozen = false;
    this.#thawedMs = this.#world.monotonic();
    for (const call of this.#held.splice(0)) this.#world.after(0, () => this.deliver(call));
  }

  beforeRequest(): void {
    this.onStep('request');
  }

  /** Whether it runs, and has done so for the last minutes. */
  get goesOn(): boolean {
    return this.alive && !this.frozen && this.#world.monotonic() - this.#thawedMs > 2 * 60_000;
  }

  /** Dies after so many more statements and timers. */
  dieAfter(steps: number): void {
    this.#diesAfter = steps;
  }

  kill(how = 'killed'): void {
    if (!this.alive) return;
    this.alive = false;
    // A loop that waits in its middle would keep its connection, and the locks of the file, for good.
    for (const rows of this.#loops) rows.return?.();
    for (const connection of this.#connections) closeAtOnce(connection);
    this.#connections.clear();
    this.onDeath(how);
  }

  beforeStatement(sql: string, connection: LedgerDb): void {
    if (!this.alive) throw new ProcessDied(`${this.name} is dead`);
    this.#connections.add(connection);
    if (sql === 'COMMIT') this.onStep('commit');
    if (MESSAGE.test(sql)) this.onStep('message');
    this.#dieAt(sql);
    const { disk, met } = this.host;
    if (disk === null || connection.readonly || READS.test(sql) || !this.#random.chance(disk.probability)) return;
    met.set(disk.fault, (met.get(disk.fault) ?? 0) + 1);
    throw diskError(disk.fault);
  }

  loop(rows: IterableIterator<unknown>): IterableIterator<unknown> {
    // Also a loop that has not come to its first row keeps its connection.
    this.#loops.add(rows);
    return this.#rowsOf(rows);
  }

  *#rowsOf(rows: IterableIterator<unknown>): IterableIterator<unknown> {
    try {
      yield* rows;
    } finally {
      this.#loops.delete(rows);
    }
  }

  #dieAt(what: string): void {
    this.#diesAfter -= 1;
    if (this.#diesAfter > 0 || !this.alive) return;
    this.kill(`died before ${what.trim().slice(0, 40)}`);
    if (what !== 'await') throw new ProcessDied(`${this.name} is dead`);
  }
}

/**
 * The looks that a daemon takes every so often at what is due. A year has three million of them: here they are fewer, as on a
 * machine that has much else to do. A lease is renewed every 20 s, and is in a hurry.
 */
const LOOKS_MS = [1_000, 2_000, 5_000, 10_000, 15_000, 30_000, 60_000, 3_600_000];

/** What was not committed is gone. A connection in the middle of a loop over rows, or of a copy, cannot be closed before that ends. */
function closeAtOnce(connection: LedgerDb): void {
  try {
    connection.close();
  } catch {
    setImmediate(() => closeAtOnce(connection));
  }
}
