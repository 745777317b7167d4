import { DEFAULT_SIGNING, type SigningScheme } from '../config/signing-scheme.ts';
import { type Clock, systemClock } from '../core/clock.ts';
import { type Randomness, systemRandomness } from '../core/randomness.ts';
import { createRedactor, type Redactor } from '../core/text/redact.ts';
import type { OriginPool, RequestDispatcher } from '../net/dispatcher.ts';
import type { ProxySettings } from '../net/proxy.ts';
import type { UsageItem } from './answers/check-item.ts';
import { parseUsagePage, type UsagePage } from './answers/check-page.ts';
import {
  type Dashboard,
  dashboardSchema,
  type EmbedToken,
  embedTokenSchema,
  parseResponse,
} from './answers/parse-response.ts';
import { CancelledError, type EndpointLabel, InvalidRequestError, UnauthorizedError } from './errors.ts';
import type { PageLease, PageMemory } from './http/page-memory.ts';
import { openServicePool, type ServiceRoute } from './http/pool.ts';
import { MAX_BODY_BYTES } from './http/receive.ts';
import { type ApiResponse, sendRequest, type TransportOptions } from './http/transport.ts';
import {
  formatBody,
  formatUsageQuery,
  parseServiceUrl,
  pathSegment,
  requireHeaderText,
  requireText,
  requireWithin,
  type UsageQuery,
} from './request-checks.ts';
import { type ApiKey, createSigner, type RequestSigner } from './sign.ts';
import { createListing, type ExactUsageItem, type UsageListing, type UsageListingQuery } from './usage-listing.ts';

/**
 * One API key, or a function that returns several keys while one replaces another. The function is called for every
 * request; if the service refuses a key, the next one is tried.
 */
type Credentials = ApiKey | { keys: () => readonly ApiKey[] };

export type UsageApiClientOptions = ClientSettings & Credentials;

export interface ClientSettings {
  /** Address of the data API: https, or http on this machine. */
  baseUrl: string;
  /** Address of the embed-token endpoint. Used only to generate a token. */
  embedUrl: string;
  /** The workspace to which the credentials belong. */
  workspaceId: string;
  /** Default: the scheme of the public documentation, see `DEFAULT_SIGNING`. */
  signing?: Readonly<SigningScheme>;
  /** Connections to the data API, each with one request at a time; default 8. */
  concurrency?: number;
  /** Milliseconds for one attempt, from requesting a connection to the last byte; default 30,000. */
  requestTimeoutMs?: number;
  /** Maximum of further attempts after the first one failed; default 4. */
  retries?: number;
  /** Milliseconds of the first backoff, doubled each time up to 8 s; default 250. */
  retryBaseMs?: number;
  /** If the service asks for a longer wait, in milliseconds, RateLimitedError is thrown at once; default 10,000. */
  maxRetryAfterMs?: number;
  /** Maximum of decoded bytes in a response; default 32 MiB. */
  maxBodyBytes?: number;
  /** Limits the memory for responses of all clients that share it; default: only `maxBodyBytes` limits each response. */
  memory?: PageMemory;
  /** Certificates (PEM) of the authorities to trust instead of the public ones. */
  ca?: string | null;
  /** Proxy for https; default: none, regardless of the environment. Loopback addresses are always reached directly. */
  proxy?: ProxySettings | null;
  /**
   * Sends all requests in place of the client's own connections, such as undici's `MockAgent` or an agent with interceptors.
   * `concurrency`, `ca` and `proxy` then have no effect, and `close` leaves it open.
   */
  dispatcher?: RequestDispatcher | undefined;
  /** The header `User-Agent`; default `usage-ledger`. */
  userAgent?: string;
  /** Removes further secrets from the service's texts. */
  redact?: Redactor;
  /** Called after each attempt with its status, or a word such as `timeout`, and its seconds. */
  onAttempt?: ((outcome: string, seconds: number) => void) | undefined;
  /** Source of time and timers; default: the system's. */
  clock?: Clock;
  /** Source of the random part of a backoff; default: the system's. */
  randomness?: Randomness;
}

export interface CallOptions {
  /** Ends the call at once, even during a wait between attempts. The call then throws CancelledError. */
  signal?: AbortSignal | undefined;
  /** Awaited before each retry, so that retries too wait for a rate limiter. */
  beforeRetry?: ((signal: AbortSignal) => Promise<void>) | undefined;
}

export interface UsagePageQuery extends UsageQuery {
  /** Asks for this tenant's history instead of the whole workspace. */
  tenantId?: string | undefined;
}

export interface CreateDashboardInput {
  title: string;
  description?: string | undefined;
  /** Further fields of the body, for parameters outside the documentation. */
  extra?: Readonly<Record<string, unknown>> | undefined;
}

export interface GenerateEmbedTokenInput {
  dashboardId: string;
  /** Requested lifetime in seconds; the service's default is 3600. */
  validitySeconds?: number | undefined;
  /** Further fields of the body, for parameters outside the documentation. */
  extra?: Readonly<Record<string, unknown>> | undefined;
}

/** An unparsed usage page: complete and decoded, but not checked. */
export interface RawPage {
  /** HTTP status. Pass it and the content type to `parseUsagePage`, whose errors name them. */
  status: number;
  contentType: string | null;
  /** The chunks of the body. Join them with `Buffer.concat` for `parseUsagePage`. */
  body: Uint8Array[];
  /** Local time at which the successful attempt was sent, in milliseconds since the epoch. */
  requestedAtMs: number;
  /** Local time at which the last byte arrived, in milliseconds since the epoch. */
  receivedAtMs: number;
  /** The service's time from its Date header (whole seconds); null if it sent none. */
  serverDateMs: number | null;
  /** Frees the memory reserved for the body. Call it when the body is no longer needed. */
  release(): void;
}

/**
 * A client for the service's four endpoints and one workspace. Every attempt is signed again. Reads are retried on
 * network faults, timeouts, 429 and 5xx. Calls fail with an `ApiError` with a stable `code`, or with an AppError (`cancelled`,
 * `bad_period`, `invalid_request`). Results keep the service's field names.
 *
 * ```ts
 * import { RateLimitedError, UsageApiClient } from 'usage-ledger/client';
 *
 * const client = new UsageApiClient({
 *   baseUrl: 'https://prod.dataapi.papermap.ai',
 *   embedUrl: 'https://papermap.ai',
 *   workspaceId: 'ws-123',
 *   apiKeyId: process.env.USAGE_API_KEY_ID ?? '',
 *   secretKey: process.env.USAGE_API_SECRET_KEY ?? '',
 * });
 * try {
 *   const page = await client.getWorkspaceUsage({ fromPeriod: '2026-01', toPeriod: '2026-02', perPage: 100 });
 *   for (const { tenant_id, period, credits_used } of page.usage) console.log(tenant_id, period, credits_used);
 * } catch (error) {
 *   if (error instanceof RateLimitedError) console.log(`retry in ${error.retryAfterMs} ms`);
 *   else throw error;
 * } finally {
 *   await client.close();
 * }
 * ```
 */
export class UsageApiClient {
  readonly workspaceId: string;
  readonly #keys: () => readonly ApiKey[];
  /** The last key that the service accepted. */
  #keyInUse: ApiKey | null = null;
  readonly #embedUrl: string;
  readonly #dashboardsPath: string;
  readonly #usagePath: string;
  readonly #pool: OriginPool;
  readonly #route: ServiceRoute;
  readonly #memory: PageMemory | null;
  /** One signer for each key. Each attempt is signed again, because a signature expires at its X-Valid-Until. */
  readonly #signers = new WeakMap<ApiKey, RequestSigner>();
  readonly #makeSigner: (key: ApiKey) => RequestSigner;
  readonly #transport: TransportOptions;
  #embed: { pool: OriginPool; path: string } | null = null;
  #closed: Promise<void> | null = null;

  /** Opens no connection yet. Throws InvalidRequestError if the address or a credential is unusable. */
  constructor(options: UsageApiClientOptions) {
    const { workspaceId, signing = DEFAULT_SIGNING, clock = systemClock } = options;
    requireHeaderText(workspaceId, 'the workspace id');
    this.workspaceId = workspaceId;
    this.#keys = 'keys' in options ? options.keys : () => [options];
    this.#makeSigner = ({ apiKeyId, secretKey }) => {
      requireHeaderText(apiKeyId, 'the API key id');
      requireText(secretKey, 'the secret key');
      return createSigner({ workspaceId, signing, apiKeyId, secretKey }, clock);
    };
    for (const key of this.#keys()) this.#signerOf(key);
    this.#embedUrl = options.embedUrl;
    const { origin, prefix } = parseServiceUrl(options.baseUrl, 'base_url');
    const workspace = pathSegment(workspaceId, 'the workspace id');
    this.#dashboardsPath = `${prefix}/api/v1/external/dashboards`;
    this.#usagePath = `${prefix}/api/v1/external/workspaces/${workspace}/tenant-usage`;
    this.#route = { ca: options.ca, proxy: options.proxy, dispatcher: options.dispatcher };
    this.#pool = openServicePool(origin, options.concurrency ?? 8, this.#route);
    this.#memory = options.memory ?? null;
    const redactOthers = options.redact ?? ((text: string) => text);
    this.#transport = {
      retry: {
        retries: options.retries ?? 4,
        baseMs: options.retryBaseMs ?? 250,
        maxRetryAfterMs: options.maxRetryAfterMs ?? 10_000,
      },
      requestTimeoutMs: options.requestTimeoutMs ?? 30_000,
      maxBodyBytes: options.maxBodyBytes ?? MAX_BODY_BYTES,
      userAgent: options.userAgent ?? 'usage-ledger',
      clock,
      randomness: options.randomness ?? systemRandomness,
      redact: (text) => this.#redactKeys(redactOthers(text)),
      onAttempt: options.onAttempt,
    };
  }

  /**
   * Creates a dashboard in the workspace (4.1). It is not idempotent, so it is retried only if the connection was
   * refused: after any other failure without a response, check whether the dashboard exists before you try again.
   */
  async createDashboard(input: CreateDashboardInput, options: CallOptions = {}): Promise<Dashboard> {
    requireText(input.title, 'the title');
    const fields = { workspace_id: this.workspaceId, title: input.title, description: input.description };
    const body = formatBody(fields, input.extra);
    const endpoint = 'create dashboard';
    const response = await this.#sendWithKey((key) =>
      sendRequest(
        {
          dispatcher: this.#pool,
          sign: this.#signerOf(key),
          endpoint,
          method: 'POST',
          path: this.#dashboardsPath,
          body,
        },
        this.#transport,
        options,
      ),
    );
    return parseResponse(response, dashboardSchema, endpoint, this.#transport.redact);
  }

  /**
   * Generates a temporary token for a preview of an embedded dashboard (4.2). The request carries the secret key in its
   * body and no signature; plain http to another machine is refused. The token is a secret too.
   */
  async generateEmbedToken(input: GenerateEmbedTokenInput, options: CallOptions = {}): Promise<EmbedToken> {
    requireText(input.dashboardId, 'the dashboard id');
    requireWithin(input.validitySeconds, 1, Number.MAX_SAFE_INTEGER, 'the validity in seconds');
    this.#embed ??= openEmbedPool(this.#embedUrl, this.#route);
    const { pool, path } = this.#embed;
    const endpoint = 'generate embed token';
    const response = await this.#sendWithKey(({ apiKeyId, secretKey }) => {
      const fields = {
        workspace_id: this.workspaceId,
        api_key_id: apiKeyId,
        secret_key: secretKey,
        dashboard_id: input.dashboardId,
        validity_duration: input.validitySeconds,
      };
      const body = formatBody(fields, input.extra);
      return sendRequest(
        { dispatcher: pool, sign: null, endpoint, method: 'POST', path, body },
        this.#transport,
        options,
      );
    });
    return parseResponse(response, embedTokenSchema, endpoint, this.#transport.redact);
  }

  /**
   * Returns all records that match a query, page by page:
   *
   * ```ts
   * for await (const { tenant_id, credits_used } of client.usage({ fromPeriod: '2026-01', exact: true })) sum += credits_used;
   * ```
   */
  usage(query: UsageListingQuery & { exact: true }, options?: CallOptions): UsageListing<ExactUsageItem>;
  usage(query?: UsageListingQuery, options?: CallOptions): UsageListing<UsageItem>;
  usage({ exact = false, ...query }: UsageListingQuery = {}, options: CallOptions = {}): UsageListing<UsageItem> {
    return createListing(exact, (page) => this.#getPage({ perPage: 100, ...query, page }, options));
  }

  /** Returns one page of the usage of all tenants of the workspace (4.3). */
  async getWorkspaceUsage(query: UsageQuery = {}, options: CallOptions = {}): Promise<UsagePage> {
    const { fromPeriod, toPeriod, page, perPage } = query;
    return this.#getPage({ fromPeriod, toPeriod, page, perPage }, options);
  }

  /** Returns one page of one tenant's usage history (4.4). */
  async getTenantUsage(tenantId: string, query: UsageQuery = {}, options: CallOptions = {}): Promise<UsagePage> {
    return this.#getPage({ ...query, tenantId }, options);
  }

  async #getPage(query: UsagePageQuery, options: CallOptions): Promise<UsagePage> {
    const { body, status, contentType, release } = await this.fetchUsagePage(query, options);
    const where = {
      status,
      contentType,
      page: query.page ?? 1,
      workspaceId: this.workspaceId,
      tenantId: query.tenantId,
      redact: this.#transport.redact,
    };
    try {
      return parseUsagePage(Buffer.concat(body), where);
    } finally {
      release();
    }
  }

  /**
   * Fetches a page of 4.3, or of 4.4 with `tenantId`, without parsing it, so that another thread can parse it with
   * `parseUsagePage`. A response other than 2xx is thrown as its error.
   */
  async fetchUsagePage(query: UsagePageQuery, options: CallOptions = {}): Promise<RawPage> {
    const { tenantId } = query;
    const tenant = tenantId === undefined ? '' : `/${pathSegment(tenantId, 'the tenant id')}`;
    const path = `${this.#usagePath}${tenant}${formatUsageQuery(query)}`;
    const endpoint = tenantId === undefined ? 'workspace usage' : 'tenant usage';
    const { signal } = options;
    const lease = await this.#acquireLease(endpoint, signal);
    const request = { dispatcher: this.#pool, endpoint, method: 'GET', path, lease } as const;
    try {
      const response = await this.#sendWithKey((key) =>
        sendRequest({ ...request, sign: this.#signerOf(key) }, this.#transport, options),
      );
      return { ...response, release: () => lease?.release() };
    } catch (error) {
      lease?.release();
      throw error;
    }
  }

  /** The id of the key that the service accepted last; null before the first response. */
  get keyInUse(): string | null {
    return this.#keyInUse?.apiKeyId ?? null;
  }

  /** Sends with the key that the service accepted last. If the service refuses it, the other keys are tried in turn. */
  async #sendWithKey(sendWith: (key: ApiKey) => Promise<ApiResponse>): Promise<ApiResponse> {
    const refused = new Set<ApiKey>();
    for (;;) {
      const remainingKeys = this.#keys().filter((key) => !refused.has(key));
      const key = remainingKeys.find((candidate) => candidate === this.#keyInUse) ?? remainingKeys[0];
      if (key === undefined)
        throw new InvalidRequestError('no API key is available to sign the request', 'pass at least one key');
      try {
        const response = await sendWith(key);
        this.#keyInUse = key;
        return response;
      } catch (error) {
        if (!(error instanceof UnauthorizedError)) throw error;
        refused.add(key);
        if (this.#keys().every((other) => refused.has(other))) throw error;
      }
    }
  }

  #redactKeys(text: string): string {
    const keys = this.#keyInUse === null ? this.#keys() : [...this.#keys(), this.#keyInUse];
    return createRedactor(keys.map(({ secretKey }) => secretKey))(text);
  }

  #signerOf(key: ApiKey): RequestSigner {
    const signer = this.#signers.get(key) ?? this.#makeSigner(key);
    this.#signers.set(key, signer);
    return signer;
  }

  async #acquireLease(endpoint: EndpointLabel, signal: AbortSignal | undefined): Promise<PageLease | null> {
    try {
      return (await this.#memory?.acquire(signal)) ?? null;
    } catch (error) {
      throw new CancelledError(endpoint, error);
    }
  }

  /** Waits for pending calls, then closes all connections. Later calls fail with code `client_closed`. */
  close(): Promise<void> {
    this.#closed ??= Promise.all([this.#pool.close(), this.#embed?.pool.close()]).then(() => undefined);
    return this.#closed;
  }
}

function openEmbedPool(embedUrl: string, route: ServiceRoute): { pool: OriginPool; path: string } {
  const { origin, prefix } = parseServiceUrl(embedUrl, 'embed_url');
  return { pool: openServicePool(origin, 1, route), path: `${prefix}/api/v1/embed/generate-token` };
}
