import { isDeepStrictEqual } from 'node:util';
import type { Config, WorkspaceConfig } from '../config/types.ts';
import type { Clock } from '../core/clock.ts';
import type { Releasers } from '../core/process/releasers.ts';
import type { Randomness } from '../core/randomness.ts';
import type { Redactor } from '../core/text/redact.ts';
import { bothPacers, HostPacer, type Pacer } from '../sync/pacer.ts';
import type { UsageApiClient, UsageApiClientOptions } from '../usage-api/client.ts';
import { PageMemory } from '../usage-api/http/page-memory.ts';
import type { ApiKey } from '../usage-api/sign.ts';
import type { Traffic } from './traffic.ts';

const NOTABLE_WAIT_SECONDS = 0.001;

/** How patient the service's clients are, and what sends their requests, where it is not as usual. */
export type ClientOverrides = Pick<
  UsageApiClientOptions,
  'retries' | 'retryBaseMs' | 'maxRetryAfterMs' | 'requestTimeoutMs' | 'dispatcher'
>;

interface ClientWiring {
  readonly config: Config;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly redact: Redactor;
  readonly version: string;
  readonly traffic: Traffic;
}

/** A workspace's client, what it is made of, the keys that count now, and how many runs are at work with it. */
interface Lent {
  workspaceId: string;
  client: Promise<UsageApiClient>;
  made: unknown;
  keys: readonly ApiKey[];
  runs: number;
}

function madeOf({ baseUrl, embedUrl, signing, concurrency, maxPageBytes, ca }: WorkspaceConfig, { proxy }: Config) {
  return { baseUrl, embedUrl, signing, concurrency, maxPageBytes, ca, proxy };
}

/** The clients of all workspaces, and what they share: the memory of answers under way and the rates of hosts. */
export class ServiceClients {
  readonly #wiring: ClientWiring;
  readonly #overrides: ClientOverrides;
  readonly #memory: PageMemory;
  readonly #clients = new Map<string, Lent>();
  /** Of settings that are no longer so, while a run goes on with them. */
  readonly #outdated = new Set<Lent>();
  readonly #pacers = new Map<string, HostPacer>();

  constructor(wiring: ClientWiring, releasers: Releasers, overrides: ClientOverrides = {}) {
    this.#wiring = wiring;
    this.#overrides = overrides;
    this.#memory = pageMemory(wiring.config.workspaces);
    releasers.push(async () => {
      const all = [...this.#clients.values(), ...this.#outdated];
      await Promise.all(all.map(async ({ client }) => (await client).close()));
    });
  }

  /** The service's client for a workspace; one for all who ask, so that connections are shared. */
  client(workspace: WorkspaceConfig): Promise<UsageApiClient> {
    return this.#of(workspace).client;
  }

  /** The same for a run: until it gives it back, the client stays open, also when other settings come to count. */
  borrow(workspace: WorkspaceConfig): { client: Promise<UsageApiClient>; giveBack: () => Promise<void> } {
    const lent = this.#of(workspace);
    lent.runs += 1;
    const giveBack = (): Promise<void> => {
      lent.runs -= 1;
      return this.#closeOutdated();
    };
    return { client: lent.client, giveBack };
  }

  /** Lets go of the clients of settings that are no longer so. Keys count at once: a run signs each request by those of then. */
  async reconfigure(): Promise<void> {
    const { config } = this.#wiring;
    const byId = new Map(config.workspaces.map((workspace) => [workspace.id, workspace]));
    for (const lent of [...this.#clients.values(), ...this.#outdated]) {
      const workspace = byId.get(lent.workspaceId);
      lent.keys = workspace?.keys ?? lent.keys;
      if (workspace !== undefined && isDeepStrictEqual(lent.made, madeOf(workspace, config))) continue;
      if (this.#clients.get(lent.workspaceId) === lent) this.#clients.delete(lent.workspaceId);
      this.#outdated.add(lent);
    }
    await this.#closeOutdated();
  }

  async #closeOutdated(): Promise<void> {
    const idle = [...this.#outdated].filter(({ runs }) => runs === 0);
    for (const lent of idle) this.#outdated.delete(lent);
    await Promise.all(idle.map(async ({ client }) => (await client).close()));
  }

  #of(workspace: WorkspaceConfig): Lent {
    const known = this.#clients.get(workspace.id);
    if (known !== undefined) return known;
    const { id: workspaceId, keys } = workspace;
    const lent: Lent = {
      workspaceId,
      client: this.#openClient(workspace, () => lent.keys),
      made: madeOf(workspace, this.#wiring.config),
      keys,
      runs: 0,
    };
    this.#clients.set(workspaceId, lent);
    return lent;
  }

  async #openClient(workspace: WorkspaceConfig, keys: () => readonly ApiKey[]): Promise<UsageApiClient> {
    const { UsageApiClient } = await import('../usage-api/client.ts');
    const { config, clock, randomness, redact, version, traffic } = this.#wiring;
    const { baseUrl, embedUrl, signing, concurrency, maxPageBytes, ca } = workspace;
    return new UsageApiClient({
      baseUrl,
      embedUrl,
      workspaceId: workspace.id,
      keys,
      signing,
      concurrency,
      maxBodyBytes: maxPageBytes,
      memory: this.#memory,
      ca,
      proxy: config.proxy,
      redact,
      userAgent: `usage-ledger/${version}`,
      clock,
      randomness,
      onAttempt: (outcome, seconds) => void traffic.emit('attempt', workspace.id, outcome, seconds),
      ...this.#overrides,
    });
  }

  /** What the answers under way may take, in bytes. */
  get reservedBytes(): number {
    return this.#memory.reservedBytes(longestPage(this.#wiring.config.workspaces));
  }

  /** All workspaces of one host share its rate, the highest that one of them is given; each keeps to its own, too. */
  async pacerOf({ id, baseUrl, requestsPerSecond }: WorkspaceConfig): Promise<Pacer> {
    const { config, clock, traffic } = this.#wiring;
    const { host } = new URL(baseUrl);
    const sharing = config.workspaces.filter((other) => new URL(other.baseUrl).host === host);
    const hostRate = Math.max(...sharing.map((other) => other.requestsPerSecond));
    const sharedRate = `${host} ${hostRate}`;
    const pacer = this.#pacers.get(sharedRate) ?? new HostPacer(hostRate, clock);
    this.#pacers.set(sharedRate, pacer);
    const lane = pacer.lane(id);
    const own = new HostPacer(requestsPerSecond, clock).lane(id);
    const turn = requestsPerSecond < hostRate ? bothPacers(own, lane) : lane;
    return async (signal) => {
      const asked = clock.monotonic();
      await turn(signal);
      const seconds = (clock.monotonic() - asked) / 1000;
      if (seconds >= NOTABLE_WAIT_SECONDS) traffic.emit('wait', id, seconds);
    };
  }
}

/** Answers that are long take this much together; those that are not take as much again. */
const LONG_ANSWER_BYTES = 32 * 1024 * 1024;

function pageMemory(workspaces: readonly WorkspaceConfig[]): PageMemory {
  return new PageMemory(undefined, Math.max(1, Math.floor(LONG_ANSWER_BYTES / longestPage(workspaces))));
}

function longestPage(workspaces: readonly WorkspaceConfig[]): number {
  return Math.max(...workspaces.map(({ maxPageBytes }) => maxPageBytes));
}
