import { z } from 'zod';
import { rateCardsSchema } from '../billing/rates/rate-card-schema.ts';
import { RULES, SEVERITIES } from '../core/text/alert-words.ts';
import { FINANCE_VIEWS, FOCUS_VERSIONS } from '../core/text/finance-views.ts';
import {
  addressRule,
  channelAddressRule,
  cronRule,
  fileNameRule,
  hostRule,
  identifierRule,
  mailboxRule,
  payloadRule,
  postgresRule,
  proxyRule,
  type Rule,
  redisRule,
  secretRule,
} from './rules.ts';
import { WEEKDAYS } from './types.ts';

function obeys<Schema extends z.ZodType<string>>(schema: Schema, rule: Rule) {
  return schema.superRefine((text, context) => {
    const mistake = rule(text);
    if (mistake !== null) context.addIssue({ code: 'custom', message: mistake });
  });
}

const word = z.string().trim().min(1);
const secret = obeys(z.string(), secretRule);
const address = obeys(word, addressRule);
/** Without quotes YAML reads a number. */
const focusVersion = z.preprocess(
  (given) => (typeof given === 'number' ? String(given) : given),
  z.enum(FOCUS_VERSIONS),
);
const cron = obeys(word, cronRule);

/** Variables from the environment are text: `${PORT}` has to count as a number where one is wanted. */
function numeric<Schema extends z.ZodType<number>>(schema: Schema) {
  return z.preprocess(
    (value) => (typeof value === 'string' && /^\s*-?\d+(\.\d+)?\s*$/.test(value) ? Number(value) : value),
    schema,
  );
}

function integer(least: number, most: number) {
  return numeric(z.int().min(least).max(most));
}

/** How the alert rules judge; for a workspace, and for some of its tenants. */
const ruleSettings = {
  ratio: numeric(z.number().min(1)).optional(),
  min_credits: numeric(z.int().min(0)).optional(),
  min_increase: numeric(z.int().min(1)).optional(),
  per_day: z.stringbool().or(z.boolean()).optional(),
  baseline: z
    .enum(['previous', 'same_month_last_year'])
    .or(z.strictObject({ median_of: integer(2, 24) }))
    .optional(),
  pace_min_fraction: numeric(z.number().min(0.01).max(1)).optional(),
};

/** The group `alerts` of `defaults` and of each workspace. */
export const alertsSchema = z.strictObject({
  ...ruleSettings,
  tenants: z.array(z.strictObject({ match: word, ...ruleSettings })).optional(),
});

/** What `defaults` and each workspace can set. */
const settings = {
  base_url: address.optional(),
  embed_url: address.optional(),
  api_key_id: obeys(word, identifierRule).optional(),
  secret_key: obeys(z.string().min(1), secretRule).optional(),
  secret_key_file: word.optional(),
  ca_file: word.optional(),
  signing: z
    .strictObject({
      payload: obeys(z.string(), payloadRule).optional(),
      encoding: z.enum(['hex', 'base64', 'base64url']).optional(),
      valid_until: z.enum(['unix_seconds', 'unix_millis', 'iso8601']).optional(),
      valid_for_seconds: integer(1, 86_400).optional(),
    })
    .optional(),
  cron: cron.optional(),
  reconcile_cron: cron.optional(),
  lookback_periods: integer(0, 120).optional(),
  settle_hours: integer(0, 1440).optional(),
  per_page: integer(1, 100).optional(),
  concurrency: integer(1, 256).optional(),
  requests_per_second: integer(1, 10_000).optional(),
  consistency: z.enum(['auto', 'twice', 'counted']).optional(),
  run_minutes: integer(1, 1440).optional(),
  max_records: integer(1, 1_000_000_000).optional(),
  max_pages: integer(1, 100_000_000).optional(),
  max_page_bytes: integer(65_536, 33_554_432).optional(),
  alerts: alertsSchema.optional(),
};

const webAddress = obeys(word, channelAddressRule);
const mailbox = obeys(word, mailboxRule);
/** Variables from the environment are text here, too. */
const flag = z.preprocess((value) => (value === 'true' ? true : value === 'false' ? false : value), z.boolean());

/** What all channels can set. */
const routed = {
  name: word.optional(),
  severities: z.array(z.enum(SEVERITIES)).min(1).optional(),
  rules: z.array(z.enum(RULES)).min(1).optional(),
  digest_hour: integer(0, 23).optional(),
  follow_ups: z.enum(['digest', 'at_once']).optional(),
  weekly_digest: z.enum(WEEKDAYS).optional(),
  month_end_digest: flag.optional(),
  remind_after_hours: integer(1, 720).optional(),
};

/** What all channels that send to another machine can set. */
const outbound = {
  ...routed,
  allow_private: flag.optional(),
  ca_file: word.optional(),
  timeout_seconds: integer(1, 30).optional(),
};

const channel = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('log'), ...routed }),
  z.strictObject({
    type: z.literal('webhook'),
    ...outbound,
    url: webAddress,
    secret: secret.optional(),
    secrets: z.array(secret).min(1).optional(),
  }),
  z.strictObject({ type: z.literal('slack'), ...outbound, url: webAddress }),
  z.strictObject({
    type: z.literal('email'),
    ...outbound,
    host: obeys(word, hostRule),
    port: integer(1, 65_535).optional(),
    tls: z.enum(['implicit', 'starttls']).optional(),
    allow_insecure: flag.optional(),
    user: word.optional(),
    password: secret.optional(),
    from: mailbox,
    to: z.array(mailbox).min(1),
  }),
]);

/**
 * The shape of `usage-ledger.yml`, each value judged on its own; what settings mean together is judged in
 * `cross-checks.ts`, so that a mistake in one place never hides one in another.
 */
export const fileSchema = z.strictObject({
  ledger: z
    .strictObject({
      path: word.optional(),
      retention_days: integer(30, 36_500).optional(),
      checkpoint_key_file: word.optional(),
      reader_group: word.optional(),
    })
    .optional(),
  redis_url: obeys(z.string().trim(), redisRule).optional(),
  http: z
    .strictObject({
      host: word.optional(),
      port: integer(0, 65_535).optional(),
      token: secret.optional(),
      protect: flag.optional(),
    })
    .optional(),
  redis_allow_plain: flag.optional(),
  proxy: obeys(z.string().trim(), proxyRule).optional(),
  workers: integer(1, 1000).optional(),
  shard: z
    .strictObject({
      index: integer(0, 1023).optional(),
      of: integer(1, 1024).optional(),
      only: z.array(word).min(1).optional(),
    })
    .optional(),
  log_level: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).optional(),
  defaults: z.strictObject(settings).optional(),
  workspaces: z.array(z.strictObject({ id: obeys(word, identifierRule), name: word.optional(), ...settings })).min(1),
  alerts: z.strictObject({ channels: z.array(channel).optional() }).optional(),
  budgets: z
    .array(
      z.strictObject({
        workspace: word.optional(),
        tenant: word.optional(),
        credits: integer(1, Number.MAX_SAFE_INTEGER),
        at: z.array(integer(1, 1000)).min(1).optional(),
      }),
    )
    .optional(),
  backup: z
    .strictObject({ cron: cron.optional(), keep: integer(1, 1000).optional(), folder: word.optional() })
    .optional(),
  publish: z
    .strictObject({
      url: obeys(word, postgresRule),
      schema: z
        .string()
        .regex(/^[a-z_][a-z0-9_]{0,62}$/, { error: 'is not a plain name of small letters, digits and _' })
        .optional(),
      tls: z.enum(['verify', 'require', 'off']).optional(),
      ca_file: word.optional(),
      stale_minutes: integer(5, 10_080).optional(),
      unready_when_stale: flag.optional(),
    })
    .optional(),
  exports: z
    .array(
      z.strictObject({
        name: obeys(word, fileNameRule),
        view: z.enum([...FINANCE_VIEWS, ...FINANCE_VIEWS.map((view) => `finance_${view}` as const), 'focus']),
        format: z.enum(['csv', 'json', 'ndjson', 'xlsx', 'parquet']).optional(),
        cron: cron.optional(),
        after: z.enum(['close']).optional(),
        period: z.enum(['current', 'previous']).optional(),
        version: focusVersion.optional(),
        workspace: word.optional(),
        names: z.boolean().optional(),
        folder: word.optional(),
        keep: integer(1, 1000).optional(),
      }),
    )
    .optional(),
  rates: rateCardsSchema.optional(),
  focus: z
    .strictObject({
      issuer: word.optional(),
      publisher: word.optional(),
      service_name: word.optional(),
      service_category: word.optional(),
      service_subcategory: word.optional(),
    })
    .optional(),
});

export type FileConfig = z.infer<typeof fileSchema>;
export type FileSettings = z.infer<z.ZodObject<typeof settings>>;
export type FileWorkspace = FileConfig['workspaces'][number];
export type FileChannel = z.infer<typeof channel>;
export type FileAlerts = z.infer<typeof alertsSchema>;
export type FileRuleSettings = z.infer<z.ZodObject<typeof ruleSettings>>;

/** Every setting there is, groups included, such as `workspaces[].signing.payload`; list items are written `[]`. */
export function settingPaths(): string[] {
  return [...new Set(pathsWithin(fileSchema, ''))];
}

function pathsWithin(schema: unknown, path: string): string[] {
  if (schema instanceof z.ZodOptional) return pathsWithin(schema.unwrap(), path);
  if (schema instanceof z.ZodArray) return pathsWithin(schema.element, `${path}[]`);
  if (schema instanceof z.ZodDiscriminatedUnion) return schema.options.flatMap((option) => pathsWithin(option, path));
  if (!(schema instanceof z.ZodObject)) return [];
  return Object.entries(schema.shape).flatMap(([key, inner]) => {
    const own = path === '' ? key : `${path}.${key}`;
    return [own, ...pathsWithin(inner, own)];
  });
}
