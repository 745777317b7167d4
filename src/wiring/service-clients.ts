import { isDeepStrictEqual } from 'node:util';
import type { Config, WorkspaceConfig } from '../config/types.ts';
import type { Clock } from '../core/clock.ts';
import type { Releasers } from '../core/process/releasers.ts';
import type { Randomness } from '../core/randomness.ts';
import type { Redactor } from '../core/text/redact.ts';
import { bothPacers, HostPacer, type Pacer } from '../net/pacer.ts';
import type { UsageApiClient, UsageApiClientOptions } from '../usage-api/client.ts';
import { PageMemory } from '../usage-api/http/page-memory.ts';
import type { ApiKey } from '../usage-api/sign.ts';
import type { MetricEvents } from './metric-events.ts';

/** Shorter waits are not counted in the metrics. */
const MIN_COUNTED_WAIT_SECONDS = 0.001;

/** Options of the service's clients that replace the defaults: retries, timeouts, dispatcher and clock. */
export type ClientOverrides = Pick<
  UsageApiClientOptions,
  'retries' | 'retryBaseMs' | 'maxRetryAfterMs' | 'requestTimeoutMs' | 'dispatcher' | 'clock'
>;

interface ClientWiring {
  readonly config: Config;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly redact: Redactor;
  readonly version: string;
  readonly metricEvents: MetricEvents;
}

/** A workspace's client with its settings, its current keys, and the number of runs that use it. */
interface ClientLease {
  workspaceId: string;
  client: Promise<UsageApiClient>;
  settings: unknown;
  keys: readonly ApiKey[];
  runs: number;
}

function connectionSettings(
  { baseUrl, embedUrl, signing, concurrency, maxPageBytes, ca }: WorkspaceConfig,
  { proxy }: Config,
) {
  return { baseUrl, embedUrl, signing, concurrency, maxPageBytes, ca, proxy };
}

/** The service clients of all workspaces, with the memory for responses and the rate limits that they share. */
export class ServiceClients {
  readonly #wiring: ClientWiring;
  readonly #overrides: ClientOverrides;
  readonly #memory: PageMemory;
  readonly #clients = new Map<string, ClientLease>();
  /** Clients with outdated settings that a run still uses. */
  readonly #outdated = new Set<ClientLease>();
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

  /** Returns the client of a workspace. All callers get the same client, and so share its connections. */
  client(workspace: WorkspaceConfig): Promise<UsageApiClient> {
    return this.#of(workspace).client;
  }

  /** Lends the client to a run: the client stays open until it is released, even when the settings change. */
  acquire(workspace: WorkspaceConfig): { client: Promise<UsageApiClient>; release: () => Promise<void> } {
    const lease = this.#of(workspace);
    lease.runs += 1;
    const release = (): Promise<void> => {
      lease.runs -= 1;
      return this.#closeOutdated();
    };
    return { client: lease.client, release };
  }

  /**
   * Adopts a new configuration. Clients with outdated settings are closed once no run uses them. New API keys apply at
   * once, even in runs in progress, because each request is signed with the current keys.
   */
  async reconfigure(): Promise<void> {
    const { config } = this.#wiring;
    const byId = new Map(config.workspaces.map((workspace) => [workspace.id, workspace]));
    for (const lease of [...this.#clients.values(), ...this.#outdated]) {
      const workspace = byId.get(lease.workspaceId);
      lease.keys = workspace?.keys ?? lease.keys;
      if (workspace !== undefined && isDeepStrictEqual(lease.settings, connectionSettings(workspace, config))) continue;
      if (this.#clients.get(lease.workspaceId) === lease) this.#clients.delete(lease.workspaceId);
      this.#outdated.add(lease);
    }
    await this.#closeOutdated();
  }

  async #closeOutdated(): Promise<void> {
    const idle = [...this.#outdated].filter(({ runs }) => runs === 0);
    for (const lease of idle) this.#outdated.delete(lease);
    await Promise.all(idle.map(async ({ client }) => (await client).close()));
  }

  #of(workspace: WorkspaceConfig): ClientLease {
    const known = this.#clients.get(workspace.id);
    if (known !== undefined) return known;
    const { id: workspaceId, keys } = workspace;
    const lease: ClientLease = {
      workspaceId,
      client: this.#openClient(workspace, () => lease.keys),
      settings: connectionSettings(workspace, this.#wiring.config),
      keys,
      runs: 0,
    };
    this.#clients.set(workspaceId, lease);
    return lease;
  }

  async #openClient(workspace: WorkspaceConfig, keys: () => readonly ApiKey[]): Promise<UsageApiClient> {
    const { UsageApiClient } = await import('../usage-api/client.ts');
    const { config, clock, randomness, redact, version, metricEvents } = this.#wiring;
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
      onAttempt: (outcome, seconds) => void metricEvents.emit('attempt', workspace.id, outcome, seconds),
      ...this.#overrides,
    });
  }

  /** Bytes of memory reserved for responses in progress. */
  get reservedResponseBytes(): number {
    return this.#memory.reservedBytes(longestPage(this.#wiring.config.workspaces));
  }

  /**
   * Returns the rate limiter of a workspace. The workspaces of one host together stay below the highest
   * `requests_per_second` among them, and each stays below its own.
   */
  async pacerOf({ id, baseUrl, requestsPerSecond }: WorkspaceConfig): Promise<Pacer> {
    const { config, clock, metricEvents } = this.#wiring;
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
      if (seconds >= MIN_COUNTED_WAIT_SECONDS) metricEvents.emit('wait', id, seconds);
    };
  }
}

/** Memory that all long responses share. Shorter responses may use as much again. */
const LONG_RESPONSES_BYTES = 32 * 1024 * 1024;

function pageMemory(workspaces: readonly WorkspaceConfig[]): PageMemory {
  return new PageMemory(undefined, Math.max(1, Math.floor(LONG_RESPONSES_BYTES / longestPage(workspaces))));
}

function longestPage(workspaces: readonly WorkspaceConfig[]): number {
  return Math.max(...workspaces.map(({ maxPageBytes }) => maxPageBytes));
}
