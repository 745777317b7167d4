import { secretsOf } from '../../../src/config/reading/secrets.ts';
import { createLogger } from '../../../src/core/logger.ts';
import { createRedactor } from '../../../src/core/text/redact.ts';
import { type Daemon, startDaemon } from '../../../src/daemon/daemon.ts';
import { Context, type ContextOverrides } from '../../../src/wiring/context.ts';
import { openInProcessWriter } from '../../support/in-process-writer.ts';
import type { Configured } from './configuration.ts';
import { type Host, SimulatedProcess } from './process.ts';
import type { Machine, World } from './world.ts';

/** What keeps a daemon running, as pm2 does: one that dies is started again. */
const RESTART_MS = 3_000;
const REBOOT_MS = 40_000;

export interface RunningDaemon {
  process: SimulatedProcess;
  context: Context;
  configured: Configured;
  daemon: Daemon;
  /** When it began to start: a process that is frozen meanwhile is ready long after. */
  begunMs: number;
  sinceMs: number;
}

/** Says when its channels begin to count; a daemon that dies while it starts may have come so far. */
class DaemonContext extends Context {
  onKept: () => void = () => undefined;
  hasKept = false;

  override async evaluateAll(): Promise<void> {
    await super.evaluateAll();
    this.hasKept = true;
    this.onKept();
  }
}

/** The place of one daemon on its host. */
export class Seat {
  readonly #world: World;
  readonly host: Machine;
  #generation = 0;
  #process: SimulatedProcess | null = null;
  /** Null while it starts, and while it is down. */
  running: RunningDaemon | null = null;
  #wanted = false;
  #held = false;

  constructor(world: World, host: Machine) {
    this.#world = world;
    this.host = host;
  }

  get process(): SimulatedProcess | null {
    return this.#process;
  }

  /** One that is stopping is started again once it has stopped. */
  start(): void {
    this.#wanted = true;
    if (this.#process !== null || this.#held) return;
    this.#generation += 1;
    const process = newProcess(this.#world, `daemon-${this.host.name}.${this.#generation}`, this.host);
    this.#process = process;
    process.onDeath = (how) => {
      this.#world.note(`${process.name} ${how}`);
      if (how.startsWith('died')) this.#world.deaths += 1;
      this.#gone(process);
    };
    process.run(() => this.#begin(process));
  }

  async #begin(process: SimulatedProcess): Promise<void> {
    const world = this.#world;
    const { configured } = this.host;
    const begunMs = world.clock.now();
    const context = new DaemonContext(await configured.config, await overridesFor(world, process, configured));
    context.onKept = () => world.decide(configured);
    try {
      const daemon = await startDaemon(context, {
        openQueue: async ({ concurrency }) => world.broker.connect(process, concurrency),
        ticks: false,
        freeBytes: () => 1e12,
      });
      if (!process.alive) return;
      world.note(`${process.name} started`);
      if (!context.hasKept) world.decide(configured);
      this.running = { process, context, configured, daemon, begunMs, sinceMs: world.clock.now() };
    } catch (error) {
      if (!process.alive) return;
      world.note(`${process.name} did not start: ${error instanceof Error ? error.message : String(error)}`);
      process.kill('ended');
    }
  }

  /** The daemon ends as by SIGTERM; it is started again by `start`. */
  stop(): void {
    this.#wanted = false;
    const { running } = this;
    if (running === null) {
      this.#process?.kill('killed at its start');
      return;
    }
    const { process, daemon, context } = running;
    process.run(async () => {
      await daemon.stop();
      await context.close();
      process.kill('stopped');
    });
  }

  /** It stops, and nothing starts it again before it is let go. */
  hold(): void {
    this.#held = true;
    this.stop();
  }

  letGo(): void {
    this.#held = false;
    this.start();
  }

  #gone(process: SimulatedProcess): void {
    if (this.#process !== process) return;
    this.#world.broker.disconnect(process);
    this.#process = null;
    this.running = null;
    if (process.reboots) this.host.clockOffsetMs = 0;
    const downMs = process.reboots ? REBOOT_MS : RESTART_MS;
    if (this.#wanted) this.#world.clock.after(downMs, () => this.#wanted && this.start());
  }

  /** Ends it as by SIGKILL and starts it again after a while. */
  kill(downMs: number): void {
    this.#wanted = false;
    this.#process?.kill();
    this.#world.clock.after(downMs, () => this.start());
  }
}

export function newProcess(world: World, name: string, host: Host): SimulatedProcess {
  const process = new SimulatedProcess(name, 1_000 + world.random.below(60_000), host, world.clock, world.random);
  process.onStep = (step) => world.steps.reached(step, process);
  world.processes.set(name, process);
  return process;
}

/** What stands in place of threads, sockets and chance for one process. */
export async function overridesFor(
  world: World,
  process: SimulatedProcess,
  { config, routes }: Configured,
): Promise<ContextOverrides> {
  const known = world.receivers.filter((receiver) => routes.some(({ name }) => name === receiver.name));
  const deliver = (call: () => void): void => process.deliver(call);
  const host = world.containers ? process.name : process.host.name;
  const holder = { host, pid: process.pid, start: process.name };
  const isRunning = (_pid: number, start: string | null): boolean => world.processes.get(start ?? '')?.alive === true;
  return {
    clock: process.clock,
    randomness: world.random,
    logger: createLogger({
      level: 'info',
      redact: createRedactor(secretsOf(await config)),
      destination: { write: (line) => world.logged(process, line) },
    }),
    channels: new Map(known.map((receiver) => [receiver.name, receiver.channelFor(process)])),
    outletDispatcher: world.billing.dispatcherFor(process),
    clientOptions: { dispatcher: world.network.dispatcherFor(deliver) },
    openWriter: (start) => openInProcessWriter(start, { holder, randomness: world.random, isRunning }),
  };
}
