import { dirname, join, resolve } from 'node:path';
import { isLoopbackHost } from '../core/net/loopback.ts';
import { RULES, SEVERITIES } from '../core/text/alert-words.ts';
import { isLocalPostgres } from './rules.ts';
import type { FileChannel, FileConfig, FileRuleSettings, FileSettings, FileWorkspace } from './schema.ts';
import { isInShard, type Shard, type ShardConfig, shardLabel } from './shard.ts';
import { DEFAULT_SIGNING } from './signing-scheme.ts';
import type {
  AlertRuleSettings,
  AlertSettings,
  BackupConfig,
  ChannelConfig,
  Config,
  ExportConfig,
  FocusConfig,
  ProxyConfig,
  PublishConfig,
  WorkspaceConfig,
} from './types.ts';

/** What FOCUS files say when the configuration says nothing of them. */
export const DEFAULT_FOCUS: FocusConfig = {
  issuer: null,
  publisher: null,
  serviceName: null,
  serviceCategory: 'Analytics',
  serviceSubcategory: 'Business Intelligence',
};

export const DEFAULT_HTTP = { host: '127.0.0.1', port: 9464 } as const;

/** What a run of a workspace may take. */
export const DEFAULT_LIMITS = {
  runMinutes: 30,
  maxRecords: 20_000_000,
  maxPages: 1_000_000,
  maxPageBytes: 4 * 1024 * 1024,
} as const;

/** The ports of RFC 8314 for handing in e-mail. */
const IMPLICIT_TLS_PORT = 465;
const SUBMISSION_PORT = 587;

/** Where a configuration came from and what was read beside it. */
export interface Source {
  /** Absolute path of the file, or null for the environment alone. */
  file: string | null;
  /** Relative paths start here. */
  folder: string;
  /** The secrets read from files, by the path of the setting that names the file. */
  secretFiles: ReadonlyMap<string, string>;
  /** The certificates read from files, in the same way. */
  caFiles: ReadonlyMap<string, string>;
  proxy: ProxyConfig | null;
}

/** A year and the time to look back on it: certificates of runs without a change, failed runs, sent notifications. */
const DEFAULT_RETENTION_DAYS = 400;

/** The configuration with every default filled in. The document has passed the schema and the cross-checks. */
export function resolveConfig(document: FileConfig, source: Source): Config {
  const defaults = document.defaults ?? {};
  const ledgerPath = resolve(source.folder, document.ledger?.path ?? 'data/ledger.db');
  const keyFile = document.ledger?.checkpoint_key_file;
  const shard = shardOf(document.shard);
  return {
    file: source.file,
    ledger: {
      path: ledgerPath,
      retentionDays: document.ledger?.retention_days ?? DEFAULT_RETENTION_DAYS,
      ...(keyFile === undefined ? {} : { checkpointKeyFile: resolve(source.folder, keyFile) }),
    },
    workers: document.workers ?? 64,
    redisUrl: document.redis_url || null,
    http: {
      host: document.http?.host ?? DEFAULT_HTTP.host,
      port: document.http?.port ?? DEFAULT_HTTP.port,
      token: tokenOf(document.http ?? {}),
    },
    proxy: source.proxy,
    rates: document.rates ?? null,
    focus: {
      issuer: document.focus?.issuer ?? null,
      publisher: document.focus?.publisher ?? null,
      serviceName: document.focus?.service_name ?? null,
      serviceCategory: document.focus?.service_category ?? DEFAULT_FOCUS.serviceCategory,
      serviceSubcategory: document.focus?.service_subcategory ?? DEFAULT_FOCUS.serviceSubcategory,
    },
    backup: resolveBackup(document.backup, source.folder, ledgerPath),
    exports: (document.exports ?? []).map((given) => resolveExport(given, source.folder, ledgerPath)),
    publish: resolvePublish(document.publish, source.caFiles.get('publish.ca_file')),
    shard: shard && shardConfig(shard, document.workspaces),
    workspaces: document.workspaces
      .map((workspace, index) =>
        resolveWorkspace(workspace, defaults, document.budgets ?? [], {
          secretKey:
            source.secretFiles.get(`workspaces[${index}].secret_key_file`) ??
            defaults.secret_key ??
            source.secretFiles.get('defaults.secret_key_file'),
          ca: source.caFiles.get(`workspaces[${index}].ca_file`) ?? source.caFiles.get('defaults.ca_file') ?? null,
        }),
      )
      .filter(({ id }) => isInShard(id, shard)),
    alerts: {
      channels: (document.alerts?.channels ?? []).map((channel, index) =>
        resolveChannel(channel, index, source.caFiles.get(`alerts.channels[${index}].ca_file`)),
      ),
    },
    logLevel: document.log_level ?? 'info',
  };
}

function shardOf(shard: FileConfig['shard']): Shard | null {
  if (shard === undefined) return null;
  if (shard.only !== undefined) return { only: shard.only };
  return { index: required(shard.index, 'shard.index'), of: required(shard.of, 'shard.of') };
}

function shardConfig(shard: Shard, workspaces: readonly { id: string }[]): ShardConfig {
  const elsewhere = workspaces.map(({ id }) => id).filter((id) => !isInShard(id, shard));
  return { label: shardLabel(shard), elsewhere };
}

/** On loopback the token may be switched off: there only `protect` decides, and a token alone means that it is asked for. */
function tokenOf({ host, token, protect }: NonNullable<FileConfig['http']>): string | null {
  if (!token) return null;
  return protect === false && isLoopbackHost(host ?? DEFAULT_HTTP.host) ? null : token;
}

function resolveBackup(backup: FileConfig['backup'], folder: string, ledgerPath: string): BackupConfig | null {
  if (backup === undefined) return null;
  return {
    cron: backup.cron ?? '0 2 * * *',
    keep: backup.keep ?? 7,
    folder: backup.folder === undefined ? join(dirname(ledgerPath), 'backups') : resolve(folder, backup.folder),
  };
}

/** Something that has waited for half an hour has missed some attempts. */
const DEFAULT_STALE_MINUTES = 30;

function resolvePublish(publish: FileConfig['publish'], ca: string | undefined): PublishConfig | null {
  if (publish === undefined) return null;
  return {
    url: publish.url,
    schema: publish.schema ?? 'usage_ledger',
    tls: publish.tls ?? (isLocalPostgres(publish.url) ? 'off' : 'verify'),
    ...(ca === undefined ? {} : { ca }),
    staleMs: (publish.stale_minutes ?? DEFAULT_STALE_MINUTES) * 60_000,
  };
}

function resolveExport(
  given: NonNullable<FileConfig['exports']>[number],
  folder: string,
  ledgerPath: string,
): ExportConfig {
  const view = given.view.replace(/^finance_/, '');
  const afterClose = given.after === 'close';
  return {
    name: given.name,
    view,
    format: given.format ?? 'csv',
    cron: afterClose ? null : (given.cron ?? '0 6 * * *'),
    period: given.period ?? (view === 'focus' ? 'previous' : null),
    workspaceId: given.workspace ?? null,
    folder: given.folder === undefined ? join(dirname(ledgerPath), 'exports') : resolve(folder, given.folder),
    keep: given.keep ?? 30,
  };
}

function resolveWorkspace(
  workspace: FileWorkspace,
  defaults: FileSettings,
  budgets: NonNullable<FileConfig['budgets']>,
  files: { secretKey: string | undefined; ca: string | null },
): WorkspaceConfig {
  const signing = { ...defaults.signing, ...given(workspace.signing) };
  return {
    id: workspace.id,
    name: workspace.name ?? workspace.id,
    baseUrl: withoutSlash(required(workspace.base_url ?? defaults.base_url, 'base_url')),
    embedUrl: withoutSlash(required(workspace.embed_url ?? defaults.embed_url, 'embed_url')),
    apiKeyId: required(workspace.api_key_id ?? defaults.api_key_id, 'api_key_id'),
    secretKey: required(workspace.secret_key ?? files.secretKey, 'secret_key'),
    ca: files.ca,
    signing: {
      payload: signing.payload ?? DEFAULT_SIGNING.payload,
      encoding: signing.encoding ?? DEFAULT_SIGNING.encoding,
      validUntil: signing.valid_until ?? DEFAULT_SIGNING.validUntil,
      validForSeconds: signing.valid_for_seconds ?? DEFAULT_SIGNING.validForSeconds,
    },
    cron: workspace.cron ?? defaults.cron ?? '*/15 * * * *',
    reconcileCron: workspace.reconcile_cron ?? defaults.reconcile_cron ?? '17 3 * * 0',
    lookbackPeriods: workspace.lookback_periods ?? defaults.lookback_periods ?? 2,
    settleHours: workspace.settle_hours ?? defaults.settle_hours ?? 48,
    perPage: workspace.per_page ?? defaults.per_page ?? 100,
    concurrency: workspace.concurrency ?? defaults.concurrency ?? 8,
    requestsPerSecond: workspace.requests_per_second ?? defaults.requests_per_second ?? 50,
    consistency: workspace.consistency ?? defaults.consistency ?? 'auto',
    runMinutes: workspace.run_minutes ?? defaults.run_minutes ?? DEFAULT_LIMITS.runMinutes,
    maxRecords: workspace.max_records ?? defaults.max_records ?? DEFAULT_LIMITS.maxRecords,
    maxPages: workspace.max_pages ?? defaults.max_pages ?? DEFAULT_LIMITS.maxPages,
    maxPageBytes: workspace.max_page_bytes ?? defaults.max_page_bytes ?? DEFAULT_LIMITS.maxPageBytes,
    alerts: { ...resolveAlerts(defaults.alerts, workspace.alerts), ...budgetsOf(workspace.id, budgets) },
  };
}

export const DEFAULT_ALERT_RULES: AlertRuleSettings = {
  ratio: 1.5,
  minCredits: 1000,
  minIncrease: null,
  perDay: false,
  baseline: 'previous',
  paceMinFraction: 0.1,
};

/** Each level fills in what it says: `defaults`, the workspace, its tenants. The workspace's patterns come first. */
function resolveAlerts(defaults: FileSettings['alerts'], own: FileSettings['alerts']): AlertSettings {
  const rules = applyRules(applyRules(DEFAULT_ALERT_RULES, defaults), own);
  const patterns = [...(own?.tenants ?? []), ...(defaults?.tenants ?? [])];
  return { ...rules, tenants: patterns.map((tenant) => ({ match: tenant.match, rules: applyRules(rules, tenant) })) };
}

/** Percent of a budget that are told of when it does not say. */
const BUDGET_STEPS = [50, 80, 100];

/** The budgets of a workspace: those that name it, and those that name none. */
function budgetsOf(workspaceId: string, budgets: NonNullable<FileConfig['budgets']>): Pick<AlertSettings, 'budgets'> {
  const own = budgets.filter(({ workspace }) => workspace === undefined || workspace === workspaceId);
  if (own.length === 0) return {};
  return {
    budgets: own.map(({ tenant = null, credits, at = BUDGET_STEPS }) => {
      return { tenant, credits: BigInt(credits), at: [...at].sort((a, b) => a - b) };
    }),
  };
}

function applyRules(base: AlertRuleSettings, own: FileRuleSettings | undefined): AlertRuleSettings {
  if (own === undefined) return base;
  const { baseline } = own;
  return {
    ratio: own.ratio ?? base.ratio,
    minCredits: own.min_credits ?? base.minCredits,
    minIncrease: own.min_increase ?? base.minIncrease,
    perDay: own.per_day ?? base.perDay,
    baseline: typeof baseline === 'object' ? { medianOf: baseline.median_of } : (baseline ?? base.baseline),
    paceMinFraction: own.pace_min_fraction ?? base.paceMinFraction,
  };
}

/** What a channel without a name is called: its type and its place in the list. */
export function channelName(type: string, index: number): string {
  return `${type}-${index + 1}`;
}

function resolveChannel(channel: FileChannel, index: number, ca: string | undefined): ChannelConfig {
  const name = channel.name ?? channelName(channel.type, index);
  const routed = { name, ...resolveRoute(channel) };
  if (channel.type === 'log') return { type: 'log', ...routed };
  const outbound = {
    ...routed,
    allowPrivate: channel.allow_private ?? false,
    timeoutMs: (channel.timeout_seconds ?? 10) * 1000,
    ...(ca === undefined ? {} : { ca }),
  };
  if (channel.type === 'slack') return { type: 'slack', ...outbound, url: channel.url };
  if (channel.type === 'webhook') {
    const secrets = (channel.secrets ?? [channel.secret ?? '']).filter((secret) => secret !== '');
    return { type: 'webhook', ...outbound, url: channel.url, secrets };
  }
  const tls = channel.tls ?? (channel.port === IMPLICIT_TLS_PORT ? 'implicit' : 'starttls');
  return {
    type: 'email',
    ...outbound,
    host: channel.host,
    port: channel.port ?? (tls === 'implicit' ? IMPLICIT_TLS_PORT : SUBMISSION_PORT),
    tls,
    allowInsecure: channel.allow_insecure ?? false,
    login: channel.user === undefined ? null : { user: channel.user, password: channel.password ?? '' },
    from: channel.from,
    to: channel.to,
  };
}

function resolveRoute(channel: FileChannel): Pick<ChannelConfig, 'route'> {
  const { severities, rules, digest_hour, follow_ups, weekly_digest, month_end_digest } = channel;
  const own = [severities, rules, digest_hour, follow_ups, weekly_digest, month_end_digest];
  if (own.every((setting) => setting === undefined)) return {};
  return {
    route: {
      severities: severities ?? SEVERITIES,
      rules: rules ?? RULES,
      digestHour: digest_hour ?? null,
      followUps: follow_ups ?? 'digest',
      ...(weekly_digest === undefined ? {} : { weeklyDigest: weekly_digest }),
      ...(month_end_digest === undefined ? {} : { monthEndDigest: month_end_digest }),
    },
  };
}

/** Keys without a value must not hide what `defaults` says. */
function given<Group extends object>(group: Group | undefined): Partial<Group> {
  const entries = Object.entries(group ?? {}).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as Partial<Group>;
}

function required<Value>(value: Value | undefined, key: string): Value {
  if (value === undefined) throw new Error(`${key} is missing although the cross-checks passed`);
  return value;
}

/** Paths are appended to these addresses, so they end without a slash. */
function withoutSlash(address: string): string {
  return new URL(address).href.replace(/\/+$/, '');
}
