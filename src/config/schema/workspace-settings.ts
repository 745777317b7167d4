import { z } from 'zod';
import { asList, asMapping } from '../../core/text/path.ts';
import { integerBetween, nonEmptyString, numeric, setting } from '../../core/text/setting-kinds.ts';
import { identifierRule, payloadRule, secretRule } from '../rules.ts';
import { DEFAULT_SIGNING, SIGNED_PARTS } from '../signing-scheme.ts';
import {
  address,
  caFile,
  camelCased,
  cron,
  cronRemedy,
  nonEmptyList,
  partial,
  READ_ONCE,
  timezone,
  timezoneRemedy,
  withRule,
} from './kinds.ts';

/** The comments after settings in the sample configuration. */
export const sampleNotes = z.registry<{ note: string }>();

/**
 * Thresholds of the alert rules, for a workspace or some of its tenants. Usage above `max(ratio * baseline, baseline +
 * min_credits)` is a jump.
 */
const ruleSettings = {
  ratio: setting(numeric(z.number().min(1)), 'Give a number of 1 or more, such as 1.5', 1.5),
  min_credits: setting(numeric(z.int().min(0)), 'Give a whole number of credits, 0 or more, such as 1000', 1000),
  baseline: setting(
    z.enum(['previous', 'same_month_last_year']),
    'Choose previous, or same_month_last_year for seasonal usage',
    'previous',
  ),
  min_amount: setting(
    numeric(z.number().min(0)),
    'Give an amount in the currency of the rate card, 0 or more, such as 50',
    0,
  ),
  critical_share: setting(
    numeric(z.number().min(0).max(1)),
    "Give a part of the workspace's previous month, 0 to 1, such as 0.005",
    0.005,
  ),
  critical_amount: setting(
    numeric(z.number().min(0)),
    'Give an amount in the currency of the rate card, 0 or more, such as 200',
    0,
  ),
  pace_min_fraction: setting(numeric(z.number().min(0.01).max(1)), 'Give a fraction of the month, 0.01 to 1', 0.1),
};

const tenantRules = z.strictObject({
  match: nonEmptyString.describe('Give a tenant id, in which * stands for anything'),
  ...partial(ruleSettings),
});

export const alertsSchema = z.strictObject({
  ...ruleSettings,
  tenants: setting(z.array(tenantRules), 'List patterns of tenants: `- match: acme-*` with settings below it', []),
});

export const DEFAULT_ALERT_RULES = camelCased(z.object(ruleSettings).parse({}, READ_ONCE));

const signingSettings = z.strictObject({
  payload: setting(
    withRule(z.string(), payloadRule),
    `Use ${SIGNED_PARTS.map((name) => `{${name}}`).join(', ')} and text between them, such as "{workspace_id}{valid_until}"`,
    DEFAULT_SIGNING.payload,
  ),
  encoding: setting(
    z.enum(['hex', 'base64', 'base64url']),
    'Choose hex, unless the service requires another encoding',
    DEFAULT_SIGNING.encoding,
  ),
  valid_until: setting(
    z.enum(['unix_seconds', 'unix_millis', 'iso8601']),
    'Choose unix_seconds, unless the service requires another format',
    DEFAULT_SIGNING.validUntil,
  ),
  valid_for_seconds: setting(
    integerBetween(1, 86_400),
    'Give whole seconds from 1 to 86400, such as 300',
    DEFAULT_SIGNING.validForSeconds,
  ),
});

const keySettings = {
  api_key_id: withRule(nonEmptyString, identifierRule).describe(
    "Give the API key's identifier, exactly as the service shows it",
  ),
  secret_key: withRule(z.string().min(1), secretRule).describe(
    "Give the API key's secret, best as a variable; or set secret_key_file or secret_key_command",
  ),
};

/**
 * Settings that `defaults` and each workspace can have. If a setting is in neither of them, its default here applies;
 * without a default, it is reported as missing.
 */
export const workspaceSettings = {
  base_url: address.describe('Give the address of the data interface, such as https://prod.dataapi.papermap.ai'),
  embed_url: address.describe('Give the address of the embed-token endpoint, such as https://papermap.ai'),
  ...keySettings,
  keys: setting(
    nonEmptyList(z.strictObject(keySettings)),
    'List keys that overlap, each with `api_key_id:` and `secret_key:`, or remove it',
  ),
  ca_file: caFile,
  signing: signingSettings
    .prefault({})
    .describe('Write `signing:` with indented settings below it, or remove it for the defaults'),
  cron: shown(cron, cronRemedy('*/15 * * * *'), '*/15 * * * *', 'when to read; five fields'),
  reconcile_cron: shown(cron, cronRemedy('17 3 * * 0'), '17 3 * * 0', 'when to read the whole history'),
  timezone: setting(timezone, timezoneRemedy('the one at the top')),
  lookback_periods: countSetting('months', 0, 120, 2, 'months before the open one that are read, too'),
  settle_hours: countSetting('hours', 0, 1440, 48, 'after its end; then a month can be closed'),
  per_page: countSetting('records', 1, 100, 100, '1 to 100'),
  concurrency: countSetting('requests', 1, 256, 8, 'requests at a time'),
  requests_per_second: countSetting('requests', 1, 1_000_000, 50, 'to one host name of the service'),
  consistency: shown(
    z.enum(['auto', 'twice', 'counted']),
    'Choose auto, unless you know how the service pages',
    'auto',
    'auto: twice up to 50 pages, else counted | twice | counted',
  ),
  suspicious_shrink: shown(
    numeric(z.number().min(0.01).max(1)),
    'Give a part of the known records, 0.01 to 1, such as 0.5',
    0.5,
    'a listing that lacks this part is not applied; 1: only an empty one',
  ),
  run_minutes: countSetting('minutes', 1, 1440, 30, 'a longer run is ended and tried again'),
  max_records: countSetting('records', 1, 1_000_000_000, 20_000_000, 'a longer listing is refused'),
  max_pages: countSetting('pages', 1, 100_000_000, 1_000_000, ''),
  max_page_bytes: countSetting('bytes', 65_536, 33_554_432, 4_194_304, 'of one page, decoded'),
  alerts: alertsSchema.prefault({}).describe('Write `alerts:` with indented settings below it'),
};

/** Defines a setting that the sample configuration shows with its default and this note. */
function shown<Schema extends z.ZodType>(
  schema: Schema,
  remedy: string,
  byDefault: z.core.util.NoUndefined<z.output<Schema>>,
  note: string,
) {
  const described = setting(schema, remedy, byDefault);
  sampleNotes.add(described, { note });
  return described;
}

function countSetting(unit: string, least: number, most: number, byDefault: number, note: string) {
  const remedy = `Give a whole number of ${unit} from ${least} to ${most}, such as ${byDefault}`;
  return shown(integerBetween(least, most), remedy, byDefault, note);
}

const ownSettings = {
  id: withRule(nonEmptyString, identifierRule).describe(
    "Give the workspace's identifier exactly as the service shows it",
  ),
  name: setting(nonEmptyString, 'Give a name that people will recognize, or remove the line'),
};

/** A workspace as written in the file: settings other than `id` are optional and have no defaults. */
export const workspaceInFile = z.strictObject({ ...ownSettings, ...partial(workspaceSettings) });
export const defaultsInFile = z.strictObject(partial(workspaceSettings));

export const workspaceSchema = z
  .object({ ...ownSettings, ...workspaceSettings })
  .transform(({ id, name = id, api_key_id, secret_key, keys, ca_file: ca = null, alerts, ...settings }) => ({
    ...camelCased(settings),
    id,
    name,
    /**
     * The keys in the order in which they are tried: a key is used only while the service rejects all keys before it.
     */
    keys: camelCased(keys ?? [{ api_key_id, secret_key }]),
    /** PEM certificates to trust instead of the public authorities; null to trust the public authorities. */
    ca,
    alerts: alertSettings(alerts),
  }));

/**
 * Returns the alert settings of a workspace and of the tenants that match a pattern. For a tenant, an exact id takes
 * precedence, then the longest pattern.
 */
function alertSettings({ tenants, ...settings }: z.output<typeof alertsSchema>) {
  const rules = camelCased(settings);
  return {
    ...rules,
    tenants: tenants.map(({ match, ...settingsOfPattern }) => {
      const own: Partial<typeof rules> = camelCased(settingsOfPattern as Partial<typeof settings>);
      return { match, rules: { ...rules, ...own }, own };
    }),
  };
}

/**
 * Merges the settings of a workspace over the defaults. The first key of a list fills a missing `api_key_id` and
 * `secret_key`.
 */
export function settingsOf(workspace: unknown, defaults: unknown): Record<string, unknown> {
  const merged = asMapping(mergeSettings(asMapping(workspace), defaults));
  return { ...asMapping(asList(merged.keys)[0]), ...merged };
}

/** Merges a workspace's settings over `defaults`: groups key by key, lists with the workspace's items first. */
function mergeSettings(own: unknown, defaults: unknown): unknown {
  if (own === undefined || defaults === undefined) return own ?? defaults;
  if (Array.isArray(own) && Array.isArray(defaults)) return [...own, ...defaults];
  if (typeof own !== 'object' || typeof defaults !== 'object') return own;
  const [given, fallback] = [asMapping(own), asMapping(defaults)];
  const keys = Object.keys({ ...fallback, ...given });
  return Object.fromEntries(keys.map((key) => [key, mergeSettings(given[key], fallback[key])]));
}
