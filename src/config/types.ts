import type { RateCardText } from '../billing/rates/rate-card-schema.ts';
import type { RuleName, Severity } from '../core/text/alert-words.ts';
import type { SigningScheme } from './signing-scheme.ts';

/**
 * How a walk is proven complete: `twice` wants two walks in a row with one key set, `counted` repeats a walk only when
 * it shows a sign of movement, `auto` is `twice` up to 50 pages and `counted` beyond.
 */
export type Consistency = 'auto' | 'twice' | 'counted';

/** What a period is compared with: the one before, or the same month a year before. */
export type AlertBaseline = 'previous' | 'same_month_last_year';

/** How the rules judge one tenant, or the workspace's total. A jump: `max(ratio * baseline, baseline + minCredits)`. */
export interface AlertRuleSettings {
  ratio: number;
  /** Credits. */
  minCredits: number;
  baseline: AlertBaseline;
  /** Of an open period, no pace is judged before this fraction of it has passed. */
  paceMinFraction: number;
}

/** What may be used in a month: by each tenant that fits, or by the workspace as a whole. */
export interface Budget {
  /** A pattern of tenants; null: the workspace's total. */
  tenant: string | null;
  /** Null for one in money. */
  credits: bigint | null;
  /** What the credits of a tenant may cost by its rate card. */
  money?: { amountMinor: bigint; currency: string };
  /** Percent of it that are told of, ascending, each once a month. */
  at: readonly number[];
}

/** The settings of a workspace, and those of tenants whose id fits a pattern; of several an exact id wins, then the longest pattern. */
export interface AlertSettings extends AlertRuleSettings {
  tenants: { match: string; rules: AlertRuleSettings }[];
  /** Absent: none. */
  budgets?: readonly Budget[];
}

export interface WorkspaceConfig {
  id: string;
  name: string;
  baseUrl: string;
  embedUrl: string;
  apiKeyId: string;
  secretKey: string;
  signing: SigningScheme;
  /** Certificates (PEM) of the authorities that its service is trusted by, instead of the public ones; null: those. */
  ca: string | null;
  /** Five-field cron expressions, in UTC. */
  cron: string;
  reconcileCron: string;
  lookbackPeriods: number;
  /** A period that is over settles for this many hours before it can be closed and before its alerts are final. */
  settleHours: number;
  perPage: number;
  concurrency: number;
  requestsPerSecond: number;
  consistency: Consistency;
  /** A run that takes longer is ended, applies nothing, and is tried again. */
  runMinutes: number;
  /** A listing that announces more is refused. */
  maxRecords: number;
  maxPages: number;
  /** Of one page, decoded. */
  maxPageBytes: number;
  alerts: AlertSettings;
}

/** Which alerts a channel is told of, and when. */
export interface RouteConfig {
  severities: readonly Severity[];
  rules: readonly RuleName[];
  /** Patterns of workspaces, and of tenants: with these, only what is about a tenant; absent: all. */
  workspaces?: readonly string[];
  tenants?: readonly string[];
  /** The hour of the day, in UTC, at which all that is not critical goes as one message; null: everything at once. */
  digestHour: number | null;
  /** What needs nobody now, such as the end of an alert: with a daily summary, at `digestHour` or at seven, or at once. */
  followUps: FollowUps;
  /** So long after its last word of what is critical and nobody has acknowledged, it is told again; absent: never. */
  remindAfterMs?: number;
}

export type FollowUps = 'digest' | 'at_once';

/** What all channels have. */
export interface RoutedConfig {
  name: string;
  /** Absent: everything, at once. */
  route?: RouteConfig;
}

export interface LogConfig extends RoutedConfig {
  type: 'log';
}

/** What all channels that send to another machine have. */
export interface OutboundConfig extends RoutedConfig {
  /** True: the address may be one that is not public. */
  allowPrivate: boolean;
  /** Limit of one attempt. */
  timeoutMs: number;
  /** Certificates (PEM) of the authorities that the receiver is trusted by, instead of the public ones. */
  ca?: string;
}

export interface WebhookConfig extends OutboundConfig {
  type: 'webhook';
  url: string;
  /** Each signs every notification, so that a receiver may know the new one or the old one. None: no signature. */
  secrets: string[];
}

export interface SlackConfig extends OutboundConfig {
  type: 'slack';
  /** The address of an incoming webhook: a secret. */
  url: string;
}

export interface EmailConfig extends OutboundConfig {
  type: 'email';
  host: string;
  port: number;
  /** `implicit`: encrypted from the first byte, as on port 465. `starttls`: encrypted by command, before anything else. */
  tls: 'implicit' | 'starttls';
  /** True: a server without TLS, or with a certificate that cannot be verified, is used as well. */
  allowInsecure: boolean;
  /** Null: no login. */
  login: { user: string; password: string } | null;
  from: string;
  to: string[];
}

/** Names are unique; a channel without a name is called after its type and place, such as `webhook-1`. */
export type ChannelConfig = LogConfig | WebhookConfig | SlackConfig | EmailConfig;

/** A store of objects that speaks S3, and how it is reached. */
export interface S3Access {
  /** Without a slash at its end; null: Amazon. */
  endpoint: string | null;
  region: string;
  accessKeyId: string;
  secretAccessKey: string;
  /** Certificates (PEM) of the authorities that it is trusted by, instead of the public ones; null: those. */
  ca: string | null;
  proxy: ProxyConfig | null;
}

/** Where files go that leave this machine. */
export interface S3Place {
  access: S3Access;
  bucket: string;
  /** What their keys begin with: empty, or with a slash at its end. */
  prefix: string;
}

/** Backups that the daemon makes by itself. */
export interface BackupConfig {
  /** Five-field cron expression, in UTC. */
  cron: string;
  /** How many stay; older ones are deleted. */
  keep: number;
  /** Absolute. */
  folder: string;
  /** With it nothing stays in the folder, in which each is made; null: all stay there. */
  to: S3Place | null;
}

/** Where in Postgres the ledger is published to. */
export interface PublishConfig {
  /** May hold a password. */
  url: string;
  schema: string;
  /** `off`: this machine only. `require`: encrypted, whoever answers. */
  tls: 'verify' | 'require' | 'off';
  /** Certificates (PEM) of the authorities that the server is trusted by, instead of the public ones. */
  ca?: string;
  /** The copy is late when something has waited for longer than this. */
  staleMs: number;
  /** A late copy makes `/readyz` fail. */
  unreadyWhenStale: boolean;
}

/** Rows of a view, or a FOCUS file, that the daemon writes by itself. */
export interface ExportConfig {
  /** The files are called after it, so each has one of its own. */
  name: string;
  /** Without `finance_`; `focus` is no view of the ledger. */
  view: string;
  format: 'csv' | 'json' | 'ndjson' | 'xlsx' | 'parquet';
  /** Five-field cron expression, in UTC; null: once a period has been closed. */
  cron: string | null;
  /** Which month, of those by cron; null: all that the view has. */
  period: 'current' | 'previous' | null;
  /** Null: all workspaces. */
  workspaceId: string | null;
  /** Absolute. */
  folder: string;
  /** With it no file stays in the folder, in which each is made; null: all stay there. */
  to: S3Place | null;
  /** How many files stay; older ones are deleted. */
  keep: number;
}

/** How FOCUS files name who bills and what; null: the workspace's name stands for it. */
export interface FocusConfig {
  issuer: string | null;
  publisher: string | null;
  serviceName: string | null;
  serviceCategory: string;
  serviceSubcategory: string;
}

/** How https services and receivers are reached where this machine may not connect to them itself. */
export interface ProxyConfig {
  /** May hold a user and a password. */
  url: string;
  /** Hosts that are reached directly, as `NO_PROXY` lists them; this machine always is. */
  noProxy: string;
}

export interface Config {
  /** Absolute path of the file that was read; null when the environment alone gave the configuration. */
  file: string | null;
  /** What is no history is kept for `retentionDays`. Without a key file the key lies beside the ledger. */
  ledger: { path: string; retentionDays: number; checkpointKeyFile?: string; readerGroup?: string };
  /** Null: the daemon starts a private redis-server. */
  redisUrl: string | null;
  /** Runs under way at once, over all workspaces of a daemon. */
  workers: number;
  /** Health, metrics and queue pages of the daemon; port 0 switches them off. */
  http: {
    host: string;
    port: number;
    token: string | null;
    /** The percentage of workspaces that may be stale while `/readyz` says ready. */
    readyWhenStalePercent: number;
    /** Where people reach the pages: messages link to it. */
    publicUrl: string | null;
  };
  /** Null: every connection is a direct one. */
  proxy: ProxyConfig | null;
  /** Null: nothing leaves this machine for a store of objects. */
  s3: S3Access | null;
  /** Null: the daemon makes none. */
  backup: BackupConfig | null;
  /** Null: the ledger stays on this machine. */
  publish: PublishConfig | null;
  /** What the daemon writes for other tools. */
  exports: readonly ExportConfig[];
  /** The rate cards, as written; null: the configuration says nothing of rates. */
  rates: readonly RateCardText[] | null;
  focus: FocusConfig;
  workspaces: WorkspaceConfig[];
  alerts: { channels: ChannelConfig[] };
  logLevel: string;
}
