import type { RateCardText } from '../billing/rates/rate-card-schema.ts';
import type { Role } from '../core/text/roles.ts';
import type { ChannelConfig, HeartbeatConfig } from './channel-types.ts';

/**
 * The configuration of the program. The comment of a property names its setting in `usage-ledger.yml`. `resolveConfig`
 * does not compile if an interface differs from the settings.
 */
export interface Config {
  /** The absolute path of the file that was read; null if the configuration is from the environment alone. */
  file: string | null;
  /** `ledger` */
  ledger: LedgerConfig;
  /** `redis_url`: null when the daemon starts a private redis-server, the default. */
  redisUrl: string | null;
  /** `workers`: maximum number of concurrent runs over all workspaces of a daemon; 64 by default. */
  workers: number;
  /** `http` */
  http: HttpConfig;
  /**
   * `timezone`: time zone of backups, exports and pages, and of workspaces and channels that set none; UTC by default.
   */
  timezone: string;
  /** `proxy`, else `HTTPS_PROXY`: null for direct connections. */
  proxy: ProxyConfig | null;
  /** `s3`: null when nothing is copied to a bucket. */
  s3: S3Access | null;
  /** `backup`: null when the daemon makes no backups. */
  backup: BackupConfig | null;
  /** `publish`: null when there is no copy in Postgres. */
  publish: PublishConfig | null;
  /** `outlets`: billing systems that receive usage; none by default. */
  outlets: OutletConfig[];
  /** `exports`: files that the daemon writes on a schedule; none by default. */
  exports: ExportConfig[];
  /** `rates`: rate cards as written in the file; null when the configuration does not mention rates. */
  rates: readonly RateCardText[] | null;
  /** `costs`: the provider's prices, on cards of the same form; null when the configuration does not mention costs. */
  costs: readonly RateCardText[] | null;
  /** `close` */
  close: CloseConfig;
  /** `statement` */
  statement: StatementConfig;
  /** `focus` */
  focus: FocusConfig;
  /** `workspaces`, each merged over `defaults`. */
  workspaces: WorkspaceConfig[];
  /** `alerts` */
  alerts: {
    /** `alerts.channels` without heartbeats; none by default. */
    channels: ChannelConfig[];
  };
  /** `alerts.channels` of type heartbeat; none by default. */
  heartbeats: HeartbeatConfig[];
  /** `log_level`: `info` by default. */
  logLevel: 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent';
}

interface LedgerConfig {
  /** `path`: absolute path of the ledger file. */
  path: string;
  /**
   * `retention_days`: days for which certificates, failed runs and sent messages are kept; 400 by default. The usage
   * history is kept for ever.
   */
  retentionDays: number;
  /** `checkpoint_key_file`: absolute path of the key that signs checkpoints; absent: a file next to the ledger. */
  checkpointKeyFile?: string;
  /** `reader_group`: name or number of the group that may read the ledger; absent: only its owner may. */
  readerGroup?: string;
}

interface HttpConfig {
  /** `host`: address to listen on; 127.0.0.1 by default. */
  host: string;
  /** `port`: 9464 by default; 0 switches the pages off. */
  port: number;
  /** `metrics`: `open` lets Prometheus read /metrics without the token; `token` by default. */
  metrics: 'token' | 'open';
  /** `token`: the token of the pages; null when they require the token in `tokenFile`. */
  token: string | null;
  /** `token_file`: absolute path of the token that the daemon creates; next to the ledger by default. */
  tokenFile: string;
  /**
   * `tokens`: the API tokens; none by default. The token of the pages also works for the API, with the role `finance`.
   */
  tokens: ApiToken[];
  /** `ready_when_stale`: percentage of workspaces that may be stale while /readyz reports ready; 0 by default. */
  readyWhenStalePercent: number;
  /** `public_url`: address at which people reach the pages; null: messages have no links. */
  publicUrl: string | null;
  /** `oidc`: the provider that people sign in with; null: none. */
  oidc: OidcConfig | null;
  /** `proxy_sign_in`: headers of a proxy that has signed people in; null: none. */
  proxySignIn: ProxySignInConfig | null;
}

/** The groups that get each role; `*` stands for everybody. A person gets the highest role of all their groups. */
export type GroupsByRole = Record<Role, string[]>;

export interface OidcConfig {
  /** `issuer`: the provider's address, exactly as written. */
  issuer: string;
  /** `client_id` */
  clientId: string;
  /** `client_secret`: null for a client without one. */
  clientSecret: string | null;
  /** `scopes`: the requested scopes, always including `openid`. */
  scopes: string[];
  /** `name_claim`: the claim with the person's name; `name` by default. */
  nameClaim: string;
  /** `roles`: `claim` lists a person's groups; `groups` by default. */
  roles: GroupsByRole & { claim: string };
  /** `ca_file`: PEM certificates that are trusted instead of the public authorities; null: the public ones. */
  ca: string | null;
}

export interface ProxySignInConfig {
  /** `user_header`: the header with the person's name, in lower case. */
  userHeader: string;
  /** `groups_header`: the header with the person's groups, in lower case. */
  groupsHeader: string;
  /** `trusted_addresses`: addresses and networks of the proxy; if empty, only this machine is trusted. */
  trustedAddresses: string[];
  /** `roles` */
  roles: GroupsByRole;
}

export interface ApiToken {
  /** The name under which changes with this token are recorded. */
  name: string;
  role: Role;
  token: string;
  /** `write`: assistants with this token may change what its role allows; otherwise they may only read. */
  mcp?: 'read' | 'write' | undefined;
}

export interface ProxyConfig {
  /** The address, which may contain a user name and a password. */
  url: string;
  /** Hosts that are reached without the proxy, in the form of `NO_PROXY`. This machine is always reached directly. */
  noProxy: string;
}

/** A workspace's settings, merged over `defaults`. */
export interface WorkspaceConfig {
  /** `id`: the identifier that the service uses. */
  id: string;
  /** `name`: the id by default. */
  name: string;
  /** `base_url`: address of the data interface, without a slash at its end. */
  baseUrl: string;
  /** `embed_url`: address of the embed-token endpoint, without a slash at its end. */
  embedUrl: string;
  /** `keys`, or `api_key_id` and `secret_key`: a key is used only while the service rejects all keys before it. */
  keys: readonly ServiceKey[];
  /** `ca_file`: PEM certificates that are trusted instead of the public authorities; null: the public ones. */
  ca: string | null;
  /** `signing` */
  signing: SigningConfig;
  /** `timezone`: time zone of `cron` and `reconcile_cron`; by default the top-level `timezone`. */
  timezone: string;
  /** `cron`: when to read; five fields; every 15 minutes by default. */
  cron: string;
  /** `reconcile_cron`: when to read the whole history; five fields; Sundays at 03:17 by default. */
  reconcileCron: string;
  /** `lookback_periods`: months before the open one that each run reads; 2 by default. */
  lookbackPeriods: number;
  /** `settle_hours`: hours after a month's end at which its figures have settled and it can be closed; 48 by default. */
  settleHours: number;
  /** `per_page`: records per page; 100 by default, which is also the maximum. */
  perPage: number;
  /** `concurrency`: maximum number of concurrent requests of a run; 8 by default. */
  concurrency: number;
  /** `requests_per_second`: requests per second to one host of the service; 50 by default. */
  requestsPerSecond: number;
  /** `consistency`: `auto` by default. */
  consistency: Consistency;
  /**
   * `suspicious_shrink`: a listing is not applied if this fraction of the known records is missing from it; 0.5 by
   * default. 1 rejects only an empty listing.
   */
  suspiciousShrink: number;
  /** `run_minutes`: minutes after which a run is aborted and tried again; 30 by default. */
  runMinutes: number;
  /** `max_records`: longest listing that is accepted, in records; 20,000,000 by default. */
  maxRecords: number;
  /** `max_pages`: longest listing that is accepted, in pages; 1,000,000 by default. */
  maxPages: number;
  /** `max_page_bytes`: largest page that is accepted, in decoded bytes; 4 MiB by default. */
  maxPageBytes: number;
  /** `alerts`, and the `budgets` that apply to this workspace. */
  alerts: AlertSettings;
}

/**
 * How a run verifies that it read the whole listing. `twice`: two complete reads in a row must have the same keys.
 * `counted`: the listing is read again only if a sign shows that it changed meanwhile. `auto`: `twice` for up to 50
 * pages, else `counted`.
 */
export type Consistency = 'auto' | 'twice' | 'counted';

interface ServiceKey {
  /** `api_key_id` */
  apiKeyId: string;
  /** `secret_key` */
  secretKey: string;
}

interface SigningConfig {
  /** `payload`: the template of the signed text, with the names of request parts in braces. */
  payload: string;
  /** `encoding`: encoding of the signature; `hex` by default. */
  encoding: 'hex' | 'base64' | 'base64url';
  /** `valid_until`: format of the time at which a signature expires; `unix_seconds` by default. */
  validUntil: 'unix_seconds' | 'unix_millis' | 'iso8601';
  /** `valid_for_seconds`: seconds for which a signature is valid; 300 by default. */
  validForSeconds: number;
}

/** Settings of the alert rules. Usage above `max(ratio * baseline, baseline + min_credits)` is a jump. */
export interface AlertRuleSettings {
  /** `ratio`: multiple of the baseline; 1.5 by default. */
  ratio: number;
  /** `min_credits`: a change of fewer credits raises no alert; 1000 by default. */
  minCredits: number;
  /** `baseline`: the month that usage is compared with; `previous` by default. */
  baseline: 'previous' | 'same_month_last_year';
  /**
   * `min_amount`: a change that costs less raises no alert; in major units of the rate card's currency; 0 by default.
   */
  minAmount: number;
  /** `critical_share`: an increase of this fraction of the workspace's previous month is critical; 0.005 by default. */
  criticalShare: number;
  /**
   * `critical_amount`: if above 0, an increase that costs this much is critical, instead of `critical_share`; in major
   * units of the rate card's currency; 0 by default.
   */
  criticalAmount: number;
  /** `pace_min_fraction`: fraction of the month that must have passed before a forecast; 0.1 by default. */
  paceMinFraction: number;
}

export interface TenantAlertSettings {
  match: string;
  rules: AlertRuleSettings;
  /** Only the settings that are written for this pattern; `rules` includes those of the workspace. */
  own: Partial<AlertRuleSettings>;
}

export interface AlertSettings extends AlertRuleSettings {
  /** `tenants`: settings for tenants that match a pattern. An exact id takes precedence, then the longest pattern. */
  tenants: TenantAlertSettings[];
  /** `budgets` of the file that apply to this workspace; absent: none. */
  budgets?: readonly Budget[];
}

/** The limit for a month: of each tenant that matches the pattern, or of the workspace as a whole. */
export interface Budget {
  /** `tenant`: a pattern of tenant ids; null: the workspace's total. */
  tenant: string | null;
  /** `credits`: null for a budget in money. */
  credits: bigint | null;
  /** `amount` and `currency`: the maximum cost of a tenant's credits by its rate card; absent for a budget in credits. */
  money?: { amountMinor: bigint; currency: string };
  /**
   * `at`: percentages of the budget, ascending; each raises an alert at most once a month; 50, 80 and 100 by default.
   */
  at: readonly number[];
}

export interface S3Access {
  /** `endpoint`: address of the S3 service; null for Amazon. */
  endpoint: string | null;
  region: string;
  /** `access_key_id` */
  accessKeyId: string;
  /** `secret_access_key` */
  secretAccessKey: string;
  /** `ca_file`: PEM certificates that are trusted instead of the public authorities; null: the public ones. */
  ca: string | null;
  proxy: ProxyConfig | null;
}

/** `to`: the bucket and prefix for files that are copied off this machine. */
export interface S3Place {
  bucket: string;
  /** The start of each object's key. It ends with a slash, unless it is empty. */
  prefix: string;
  access: S3Access;
}

export interface BackupConfig {
  /** `cron`: five fields; by default daily at 02:00. */
  cron: string;
  /** `timezone` at the top. */
  timezone: string;
  /** `keep`: number of backups that are kept; 7 by default. */
  keep: number;
  /** `folder`: absolute path; `backups` beside the ledger by default. */
  folder: string;
  /** `to`: null: backups stay on this machine. */
  to: S3Place | null;
}

export interface PublishConfig {
  /** `url`: address of the Postgres server; may contain a password. */
  url: string;
  /** `schema`: `usage_ledger` by default. */
  schema: string;
  /** `tls`: by default `off` for a server on this machine, else `verify`. */
  tls: 'verify' | 'require' | 'off';
  /** `ca_file`: PEM certificates that are trusted instead of the public authorities; absent: the public ones. */
  ca?: string;
  /** `stale_minutes`, in milliseconds: an alert is raised if the copy is later than this; 30 min by default. */
  staleMs: number;
  /** `unready_when_stale`: whether /readyz fails while the copy is late; false by default. */
  unreadyWhenStale: boolean;
}

export type OutletConfig =
  | WebhookOutletSettings
  | StripeOutletSettings
  | MetronomeOutletSettings
  | OpenmeterOutletSettings
  | LagoOutletSettings;

interface OutletSettings {
  /** `name`: the ledger records sent events under this name. */
  name: string;
  url: string;
  /** `workspaces`: ids; null: all. */
  workspaces: readonly string[] | null;
  /** `customer`: a tenant's id in the billing system: `tenant_id` (the default), `external_ref` or `label:NAME`. */
  customer: string;
  /** `send`: what is sent; `credits` by default. */
  send: 'credits' | 'requests';
  /** `from_period`: first month that is sent; null: it is given with `outlets start --from`. */
  fromPeriod: string | null;
  /** `allow_private`: true if the address may be in a private network; false by default. */
  allowPrivate: boolean;
  /** `timeout_seconds`, in milliseconds; 30 s by default. */
  timeoutMs: number;
  /** `ca_file`: PEM certificates that are trusted instead of the public authorities; absent: the public ones. */
  ca?: string;
}

interface WebhookOutletSettings extends OutletSettings {
  type: 'webhook';
  /** `secrets`, or `secret`: each request is signed with each of them. */
  secrets: readonly string[];
  /** `events_per_request`: maximum number of events in a request; 100 by default. */
  eventsPerRequest: number;
  /** `requests_per_second`: maximum number of requests per second; 20 by default. */
  requestsPerSecond: number;
  /** `remembers_hours`, in milliseconds: how long the receiver ignores a repeated event id; 168 h by default. */
  remembersMs: number;
}

interface MeterOutlet extends OutletSettings {
  token: string;
  /** `meter`: id, slug or code of the meter or billable metric. */
  meter: string;
}

interface StripeOutletSettings extends MeterOutlet {
  type: 'stripe';
}

interface MetronomeOutletSettings extends MeterOutlet {
  type: 'metronome';
}

interface OpenmeterOutletSettings extends Omit<MeterOutlet, 'token'> {
  type: 'openmeter';
  /** `token`: null if the server requires none. */
  token: string | null;
}

interface LagoOutletSettings extends MeterOutlet {
  type: 'lago';
}

export interface ExportConfig {
  /** `name`: the files of the export are named after it. */
  name: string;
  /** `view`: name of the view, without `finance_`; `focus` is not a view of the ledger. */
  view: string;
  /** `format`: `csv` by default. */
  format: 'csv' | 'json' | 'ndjson' | 'xlsx' | 'parquet';
  /**
   * `cron`: five fields; by default daily at 06:00; null: the export is written after a period has been closed (`after:
   * close`).
   */
  cron: string | null;
  /** `timezone` at the top. */
  timezone: string;
  /** `period`: the month that a scheduled export covers; null: all months of the view. */
  period: 'current' | 'previous' | null;
  /** `workspace`: an id; null: every workspace. */
  workspaceId: string | null;
  /** `folder`: absolute path; `exports` beside the ledger by default. */
  folder: string;
  /** `to`: null: files stay on this machine. */
  to: S3Place | null;
  /** `keep`: number of files that are kept; 30 by default. */
  keep: number;
}

interface CloseConfig {
  /**
   * `max_change`: how much a month may differ from the previous one, in percent or as an amount; null: without limit.
   */
  maxChange: { percent: number; amount?: never } | { percent?: never; amount: string } | null;
}

interface StatementConfig {
  /** `number`: template of statement numbers, such as `2026-{seq:0000}`; null: statements have no numbers. */
  number: string | null;
  /** `letterhead`: null: none. */
  letterhead: {
    name: string;
    /** `address`: its lines. */
    address: string[];
    /** `logo`: path of an image; null: none. */
    logo: string | null;
    /** `footer`: null: none. */
    footer: string | null;
    /** `language`: `en` by default. */
    language: 'en' | 'de';
  } | null;
}

/** Names in FOCUS files. */
export interface FocusConfig {
  /** `issuer`: the company that bills; null: the workspace's name. */
  issuer: string | null;
  /** `publisher`: the company that runs the service; null: the workspace's name. */
  publisher: string | null;
  /** `service_name`; null for the workspace's name. */
  serviceName: string | null;
  /** `service_category`: `Analytics` by default. */
  serviceCategory: string;
  /** `service_subcategory`: `Business Intelligence` by default. */
  serviceSubcategory: string;
}
