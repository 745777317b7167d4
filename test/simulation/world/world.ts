import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openForWriting } from '../../../src/ledger/store/file/open.ts';
import { migrateLedger } from '../../../src/ledger/store/schema/migrate.ts';
import { Random } from '../../support/random.ts';
import { createVirtualClock, settled, type VirtualClock } from '../../support/time/virtual-clock.ts';
import type { Plan } from '../play/plan.ts';
import { Billing } from './billing.ts';
import { Broker } from './broker.ts';
import {
  type Configured,
  configure,
  LEDGER_FILE,
  RENAMED,
  type Route,
  type SettingsKind,
  secretOf,
} from './configuration.ts';
import { Network } from './network.ts';
import type { Host, SimulatedProcess } from './process.ts';
import { writeRateFiles } from './rate-cards.ts';
import { Receiver } from './receiver.ts';
import { SimulatedService } from './service.ts';
import { watchStatements } from './statements.ts';
import { Steps } from './steps.ts';

/** A host with what stands in its configuration file now. */
export interface Machine extends Host {
  configured: Configured;
}

/** Everything around the program, on one clock and from one seed. */
export interface World {
  readonly clock: VirtualClock;
  readonly random: Random;
  readonly folder: string;
  readonly ledgerPath: string;
  readonly workspaceIds: readonly string[];
  /** Writes another configuration into the file of a machine: who is started there from now on has it. */
  configure(settings: SettingsKind, host: Machine): void;
  /** The channels of the daemon that started last, and since when; null before any has. */
  decided: { routes: readonly Route[]; sinceMs: number } | null;
  /** A daemon starts with these. */
  decide(configured: Configured): void;
  readonly network: Network;
  readonly services: readonly SimulatedService[];
  readonly receivers: readonly Receiver[];
  readonly billing: Billing;
  readonly broker: Broker;
  readonly hosts: readonly Machine[];
  /** Those of the other ledger, too. */
  readonly everyHost: Host[];
  readonly steps: Steps;
  /** Each process has a host name of its own, as in containers. */
  readonly containers: boolean;
  /** All that there have been, by name. */
  readonly processes: Map<string, SimulatedProcess>;
  /** What happened, a line each, with the world's time. */
  note(line: string): void;
  readonly trace: string[];
  /** Processes that died before a statement or in a wait. */
  deaths: number;
  /** Told of each line of a process's log. */
  logged(process: SimulatedProcess, line: string): void;
  /** Goes to the next thing that happens by `endMs`; false when nothing does. */
  next(endMs: number): Promise<boolean>;
  close(): void;
}

/** Memory where the system has some for files: what is tested here is not the disk. */
const TEMPORARY = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

export function createWorld(plan: Plan): World {
  watchStatements();
  const random = new Random(plan.seed ^ 0x5eed);
  const clock = createVirtualClock(plan.startMs);
  const folder = mkdtempSync(join(TEMPORARY, 'usage-ledger-world-'));
  writeRateFiles(folder);
  if (!plan.isFirstStart) writeFileSync(join(folder, LEDGER_FILE), emptyLedger(), { mode: 0o600 });
  const network = new Network(clock, random);
  const services = plan.workspaces.map(({ id, tenants }) => {
    const service = new SimulatedService(
      id,
      secretOf(id),
      tenants.map((tenant) => ({ ...tenant, bulges: new Map() })),
    );
    network.services.set(id, service);
    return service;
  });
  const trace: string[] = [];
  const note = (line: string): void => {
    trace.push(`${new Date(clock.now()).toISOString()} ${line}`);
  };
  network.onRequest = (line) => note(`request ${line}`);
  const written = (settings: SettingsKind): Configured => configure(plan, { folder, settings });
  const hosts = [newHost('host', plan, written('plain'))];
  return {
    clock,
    random,
    folder,
    ledgerPath: join(folder, LEDGER_FILE),
    workspaceIds: plan.workspaces.map(({ id }) => id),
    configure(settings, host) {
      host.configured = written(settings);
    },
    decided: null,
    decide({ routes }) {
      const isSame = JSON.stringify(this.decided?.routes) === JSON.stringify(routes);
      if (!isSame) this.decided = { routes, sinceMs: clock.now() };
    },
    network,
    services,
    receivers: [...plan.receivers.map(({ name }) => name), RENAMED].map((name) => new Receiver(name, clock, random)),
    billing: new Billing(clock, plan.seed),
    broker: new Broker(clock, random),
    steps: new Steps(),
    containers: plan.containers,
    processes: new Map(),
    hosts,
    everyHost: [...hosts],
    note,
    trace,
    deaths: 0,
    logged: () => undefined,
    async next(endMs) {
      const fired = await clock.fireNext(endMs);
      // What one step began may begin something itself that takes a turn.
      for (let turn = 0; turn < 3; turn += 1) await settled();
      // A real file takes as many turns as the machine likes: in the world it takes none.
      while (process.getActiveResourcesInfo().some((name) => name.startsWith('FSReq'))) await settled();
      return fired;
    },
    close: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Another machine, on which a copy of the ledger goes on with a workspace; around it is the same world. */
export function createSecond(world: World, plan: Plan, workspaceId: string): World {
  const folder = join(world.folder, 'second');
  mkdirSync(folder);
  writeRateFiles(folder);
  const written = (settings: SettingsKind): Configured => configure(plan, { folder, settings, only: workspaceId });
  const host = newHost('second-host', plan, written(world.hosts[0]?.configured.settings ?? 'plain'));
  world.everyHost.push(host);
  return {
    ...world,
    ...{ folder, ledgerPath: join(folder, LEDGER_FILE), workspaceIds: [workspaceId], hosts: [host], decided: null },
    configure: (settings) => {
      host.configured = written(settings);
    },
    broker: new Broker(world.clock, world.random),
    close: () => undefined,
  };
}

function newHost(name: string, { lookMs }: Plan, configured: Configured): Machine {
  return { name, configured, clockOffsetMs: 0, lookMs, disk: null, met: new Map() };
}

let image: Buffer | undefined;

/** A ledger without any run, as the first start leaves it: to make one takes as long as a tenth of a short world. */
function emptyLedger(): Buffer {
  if (image !== undefined) return image;
  const folder = mkdtempSync(join(TEMPORARY, 'usage-ledger-empty-'));
  const path = join(folder, LEDGER_FILE);
  const connection = openForWriting(path);
  migrateLedger(connection, path, '0.0.0', 0, '00000000-0000-4000-8000-000000000000');
  connection.close();
  image = readFileSync(path);
  rmSync(folder, { recursive: true });
  return image;
}
