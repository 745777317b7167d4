import type { Config, WorkspaceConfig } from '../config/types.ts';
import type { Clock } from '../core/clock.ts';
import type { Releasers } from '../core/process/releasers.ts';
import type { Randomness } from '../core/randomness.ts';
import type { Redactor } from '../core/text/redact.ts';
import type { HostPacer, Pacer } from '../sync/pacer.ts';
import type { UsageApiClient, UsageApiClientOptions } from '../usage-api/client.ts';
import { PageMemory } from '../usage-api/http/page-memory.ts';
import type { Traffic } from './traffic.ts';

/** A turn that comes at once is no wait. */
const NOTABLE_WAIT_SECONDS = 0.001;

/** How patient the service's clients are, and what sends their requests, where it is not as usual. */
export type ClientOverrides = Pick<
  UsageApiClientOptions,
  'retries' | 'retryBaseMs' | 'maxRetryAfterMs' | 'requestTimeoutMs' | 'dispatcher'
>;

/** What clients take of the wiring. */
interface ClientWiring {
  readonly config: Config;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly redact: Redactor;
  readonly version: string;
  readonly traffic: Traffic;
}

/** The clients of all workspaces, and what they share: the memory of answers under way and the rates of hosts. */
export class ServiceClients {
  readonly #wiring: ClientWiring;
  readonly #releasers: Releasers;
  readonly #overrides: ClientOverrides;
  readonly #memory: PageMemory;
  readonly #clients = new Map<string, Promise<UsageApiClient>>();
  readonly #pacers = new Map<string, HostPacer>();

  constructor(wiring: ClientWiring, releasers: Releasers, overrides: ClientOverrides = {}) {
    this.#wiring = wiring;
    this.#releasers = releasers;
    this.#overrides = overrides;
    this.#memory = pageMemory(wiring.config.workspaces);
  }

  /** The service's client for a workspace; one for all who ask, so that connections are shared. */
  client(workspace: WorkspaceConfig): Promise<UsageApiClient> {
    const client = this.#clients.get(workspace.id) ?? this.#openClient(workspace);
    this.#clients.set(workspace.id, client);
    return client;
  }

  async #openClient(workspace: WorkspaceConfig): Promise<UsageApiClient> {
    const { UsageApiClient } = await import('../usage-api/client.ts');
    const { config, clock, randomness, redact, version, traffic } = this.#wiring;
    const { baseUrl, embedUrl, apiKeyId, secretKey, signing, concurrency, maxPageBytes, ca } = workspace;
    const client = new UsageApiClient({
      baseUrl,
      embedUrl,
      workspaceId: workspace.id,
      apiKeyId,
      secretKey,
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
      onAttempt: (outcome, seconds) => traffic.attempt(workspace.id, outcome, seconds),
      ...this.#overrides,
    });
    this.#releasers.push(() => client.close());
    return client;
  }

  /** What the answers under way may take, in bytes. */
  get reservedBytes(): number {
    return this.#memory.reservedBytes(longestPage(this.#wiring.config.workspaces));
  }

  /** All workspaces of one host share its rate, the highest that one of them is given; each keeps to its own, too. */
  async pacerOf({ id, baseUrl, requestsPerSecond }: WorkspaceConfig): Promise<Pacer> {
    const { HostPacer, bothPacers } = await import('../sync/pacer.ts');
    const { config, clock, traffic } = this.#wiring;
    const { host } = new URL(baseUrl);
    const sharing = config.workspaces.filter((other) => new URL(other.baseUrl).host === host);
    const hostRate = Math.max(...sharing.map((other) => other.requestsPerSecond));
    const pacer = this.#pacers.get(host) ?? new HostPacer(hostRate, clock);
    this.#pacers.set(host, pacer);
    const lane = pacer.lane(id);
    const own = new HostPacer(requestsPerSecond, clock).lane(id);
    const turn = requestsPerSecond < hostRate ? bothPacers(own, lane) : lane;
    return async (signal) => {
      const asked = clock.monotonic();
      await turn(signal);
      const seconds = (clock.monotonic() - asked) / 1000;
      if (seconds >= NOTABLE_WAIT_SECONDS) traffic.waited(id, seconds);
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
