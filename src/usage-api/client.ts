import { DEFAULT_SIGNING, type SigningScheme } from '../config/signing-scheme.ts';
import { type Clock, systemClock } from '../core/clock.ts';
import type { ProxySettings } from '../core/net/proxy-options.ts';
import { type Randomness, systemRandomness } from '../core/randomness.ts';
import { createRedactor, type Redactor } from '../core/text/redact.ts';
import { parseUsagePage, type UsageItem, type UsagePage } from './answers/check-page.ts';
import {
  type Dashboard,
  dashboardSchema,
  type EmbedToken,
  embedTokenSchema,
  parseAnswer,
} from './answers/parse-answer.ts';
import { CancelledError, type EndpointLabel, InvalidRequestError, UnauthorizedError } from './errors.ts';
import type { PageLease, PageMemory } from './http/page-memory.ts';
import { type OriginPool, openPool, type RequestDispatcher, type Route } from './http/pool.ts';
import { MAX_BODY_BYTES } from './http/receive.ts';
import { type Answer, send, type TransportOptions } from './http/transport.ts';
import {
  bodyText,
  parseServiceUrl,
  pathSegment,
  queryText,
  requireHeaderText,
  requireText,
  requireWithin,
  type UsageQuery,
} from './request-checks.ts';
import { type ApiKey, createSigner, type Signer } from './sign.ts';
import { createListing, type ExactUsageItem, type UsageListing, type UsageListingQuery } from './usage-listing.ts';

/** One key; or a function that gives several while one replaces another: it is asked at each call, and the next key is tried while one is refused. */
type Credentials = ApiKey | { keys: () => readonly ApiKey[] };

export type UsageApiClientOptions = ClientSettings & Credentials;

export interface ClientSettings {
  /** Address of the data interface: https, or http on this machine. */
  baseUrl: string;
  /** Address of the embed-token endpoint; looked at when a token is asked for. */
  embedUrl: string;
  /** The workspace that the credentials are of. */
  workspaceId: string;
  /** Default: the scheme of the public documentation, see `DEFAULT_SIGNING`. */
  signing?: Readonly<SigningScheme>;
  /** Connections to the data interface, each with one request at a time; default 8. */
  concurrency?: number;
  /** Milliseconds for one attempt, from asking for a connection to the last byte; default 30,000. */
  requestTimeoutMs?: number;
  /** Attempts after the first one; default 4. */
  retries?: number;
  /** The first backoff, doubled each time up to 8 s; default 250. */
  retryBaseMs?: number;
  /** A longer Retry-After is not waited for but thrown as RateLimitedError; default 10,000. */
  maxRetryAfterMs?: number;
  /** Decoded bytes of an answer; default 32 MiB. */
  maxBodyBytes?: number;
  /** Bounds what the answers of several clients take together; default: no bound beyond `maxBodyBytes`. */
  memory?: PageMemory;
  /** Certificates (PEM) of the authorities that the service is trusted by, instead of the public ones. */
  ca?: string | null;
  /** For https; default: none, whatever the environment says. Loopback addresses are always reached directly. */
  proxy?: ProxySettings | null;
  /**
   * Sends all requests in place of the client's own connections, such as undici's `MockAgent` or an agent with interceptors.
   * `concurrency`, `ca` and `proxy` then have no effect, and `close` leaves it open.
   */
  dispatcher?: RequestDispatcher | undefined;
  /** The header `User-Agent`; default `usage-ledger`. */
  userAgent?: string;
  /** Takes further secrets out of what the service says. */
  redact?: Redactor;
  /** Called after each attempt with its status, or a word such as `timeout`, and its seconds. */
  onAttempt?: ((outcome: string, seconds: number) => void) | undefined;
  /** Where time and timers come from; default: the system's. */
  clock?: Clock;
  /** Where the random part of a backoff comes from; default: the system's. */
  randomness?: Randomness;
}

export interface CallOptions {
  /** Ends the call at once, in a wait between attempts too; it then throws CancelledError. */
  signal?: AbortSignal | undefined;
  /** Awaited before each attempt after the first, so that a rate counts these, too. */
  beforeRetry?: ((signal: AbortSignal) => Promise<void>) | undefined;
}

export interface UsagePageQuery extends UsageQuery {
  /** Asks for this tenant's history instead of the whole workspace. */
  tenantId?: string | undefined;
}

export interface CreateDashboardInput {
  title: string;
  description?: string | undefined;
  /** Further fields of the body, for what the service takes beyond the documentation. */
  extra?: Readonly<Record<string, unknown>> | undefined;
}

export interface GenerateEmbedTokenInput {
  dashboardId: string;
  /** Requested lifetime in seconds; the service's default is 3600. */
  validitySeconds?: number | undefined;
  /** Further fields of the body, for what the service takes beyond the documentation. */
  extra?: Readonly<Record<string, unknown>> | undefined;
}

/** A usage page as it came: complete, decoded, neither parsed nor checked. */
export interface RawPage {
  /** For `parseUsagePage`, whose error names both when the body is not an answer of the API. */
  status: number;
  contentType: string | null;
  /** In the pieces in which it came: joined with `Buffer.concat`, it is what `parseUsagePage` takes. */
  body: Uint8Array[];
  /** Our clock when the attempt that succeeded was sent, milliseconds since the epoch. */
  requestedAtMs: number;
  /** Our clock when its last byte came. */
  receivedAtMs: number;
  /** The service's clock by its Date header (whole seconds); null when it sent none. */
  serverDateMs: number | null;
  /** Frees the room of the body where room is bounded; call it when the body is no longer needed. */
  release(): void;
}

/**
 * The service's four endpoints for one workspace. Requests are signed afresh on every attempt; reads are repeated on
 * network faults, timeouts, 429 and 5xx; whatever ends a call is an `ApiError` with a stable `code` (or an AppError:
 * `cancelled`, `bad_period`, `invalid_request`). Answers keep the service's field names.
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
 *   if (error instanceof RateLimitedError) console.log(`come back in ${error.retryAfterMs} ms`);
 *   else throw error;
 * } finally {
 *   await client.close();
 * }
 * ```
 */
export class UsageApiClient {
  readonly workspaceId: string;
  readonly #keys: () => readonly ApiKey[];
  /** The last key that was not refused. */
  #keyInUse: ApiKey | null = null;
  readonly #embedUrl: string;
  readonly #dashboardsPath: string;
  readonly #usagePath: string;
  readonly #pool: OriginPool;
  readonly #route: Route;
  readonly #memory: PageMemory | null;
  /** One for each key. A signer is called for each attempt, so that no attempt has the X-Valid-Until of an earlier one. */
  readonly #signers = new WeakMap<ApiKey, Signer>();
  readonly #makeSigner: (key: ApiKey) => Signer;
  readonly #transport: TransportOptions;
  #embed: { pool: OriginPool; path: string } | null = null;
  #closed: Promise<void> | null = null;

  /** Opens no connection yet. Throws InvalidRequestError when the address or a credential cannot be used. */
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
    this.#pool = openPool(origin, options.concurrency ?? 8, this.#route);
    this.#memory = options.memory ?? null;
    const others = options.redact ?? ((text: string) => text);
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
      redact: (text) => this.#redactKeys(others(text)),
      onAttempt: options.onAttempt,
    };
  }

  /**
   * Creates a dashboard in the workspace (4.1). Not idempotent, so it is repeated only when the connection was refused:
   * after any other failure without an answer, look whether the dashboard exists before trying again.
   */
  async createDashboard(input: CreateDashboardInput, options: CallOptions = {}): Promise<Dashboard> {
    requireText(input.title, 'the title');
    const own = { workspace_id: this.workspaceId, title: input.title, description: input.description };
    const body = bodyText(own, input.extra);
    const endpoint = 'create dashboard';
    const answer = await this.#byKey((key) =>
      send(
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
    return parseAnswer(answer, dashboardSchema, endpoint, this.#transport.redact);
  }

  /**
   * Generates a temporary token that previews a dashboard's embedding (4.2). The request carries the secret key in its
   * body and no signature; it is refused over plain http to another machine. The token is a secret too.
   */
  async generateEmbedToken(input: GenerateEmbedTokenInput, options: CallOptions = {}): Promise<EmbedToken> {
    requireText(input.dashboardId, 'the dashboard id');
    requireWithin(input.validitySeconds, 1, Number.MAX_SAFE_INTEGER, 'the validity in seconds');
    this.#embed ??= openEmbed(this.#embedUrl, this.#route);
    const { pool, path } = this.#embed;
    const endpoint = 'generate embed token';
    const answer = await this.#byKey(({ apiKeyId, secretKey }) => {
      const own = {
        workspace_id: this.workspaceId,
        api_key_id: apiKeyId,
        secret_key: secretKey,
        dashboard_id: input.dashboardId,
        validity_duration: input.validitySeconds,
      };
      const body = bodyText(own, input.extra);
      return send({ dispatcher: pool, sign: null, endpoint, method: 'POST', path, body }, this.#transport, options);
    });
    return parseAnswer(answer, embedTokenSchema, endpoint, this.#transport.redact);
  }

  /**
   * All records that a query asks for, page after page:
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

  /** One page of the usage of all tenants of the workspace (4.3). */
  async getWorkspaceUsage(query: UsageQuery = {}, options: CallOptions = {}): Promise<UsagePage> {
    const { fromPeriod, toPeriod, page, perPage } = query;
    return this.#getPage({ fromPeriod, toPeriod, page, perPage }, options);
  }

  /** One page of one tenant's usage history (4.4). */
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
   * Fetches a page of 4.3, or of 4.4 with `tenantId`, without parsing it, so that another thread can do that with
   * `parseUsagePage`. An answer other than 2xx is read and thrown as its error.
   */
  async fetchUsagePage(query: UsagePageQuery, options: CallOptions = {}): Promise<RawPage> {
    const { tenantId } = query;
    const tenant = tenantId === undefined ? '' : `/${pathSegment(tenantId, 'the tenant id')}`;
    const path = `${this.#usagePath}${tenant}${queryText(query)}`;
    const endpoint = tenantId === undefined ? 'workspace usage' : 'tenant usage';
    const { signal } = options;
    const lease = await this.#takeRoom(endpoint, signal);
    const request = { dispatcher: this.#pool, endpoint, method: 'GET', path, lease } as const;
    try {
      const answer = await this.#byKey((key) =>
        send({ ...request, sign: this.#signerOf(key) }, this.#transport, options),
      );
      return { ...answer, release: () => lease?.release() };
    } catch (error) {
      lease?.release();
      throw error;
    }
  }

  /** The id of the key that the service took last; null before the first answer. */
  get keyInUse(): string | null {
    return this.#keyInUse?.apiKeyId ?? null;
  }

  /** Sends by the key that was taken last, and tries the others while the service refuses it. */
  async #byKey(sendBy: (key: ApiKey) => Promise<Answer>): Promise<Answer> {
    const refused = new Set<ApiKey>();
    for (;;) {
      const left = this.#keys().filter((key) => !refused.has(key));
      const key = left.find((candidate) => candidate === this.#keyInUse) ?? left[0];
      if (key === undefined) throw new InvalidRequestError('there is no key to sign by', 'give one');
      try {
        const answer = await sendBy(key);
        this.#keyInUse = key;
        return answer;
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

  #signerOf(key: ApiKey): Signer {
    const signer = this.#signers.get(key) ?? this.#makeSigner(key);
    this.#signers.set(key, signer);
    return signer;
  }

  async #takeRoom(endpoint: EndpointLabel, signal: AbortSignal | undefined): Promise<PageLease | null> {
    try {
      return (await this.#memory?.take(signal)) ?? null;
    } catch (error) {
      throw new CancelledError(endpoint, error);
    }
  }

  /** Waits for calls under way, then closes all connections. Later calls fail with code `client_closed`. */
  close(): Promise<void> {
    this.#closed ??= Promise.all([this.#pool.close(), this.#embed?.pool.close()]).then(() => undefined);
    return this.#closed;
  }
}

function openEmbed(embedUrl: string, route: Route): { pool: OriginPool; path: string } {
  const { origin, prefix } = parseServiceUrl(embedUrl, 'embed_url');
  return { pool: openPool(origin, 1, route), path: `${prefix}/api/v1/embed/generate-token` };
}
