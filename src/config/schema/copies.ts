import { z } from 'zod';
import { flag, integerBetween, nonEmptyString, setting } from '../../core/text/setting-kinds.ts';
import { fileNameRule, isLocalPostgres, parseS3Url, postgresRule, prefixOf, s3Rule } from '../rules.ts';
import { FINANCE_VIEWS } from './finance-views.ts';
import { address, caFile, camelCased, cron, cronRemedy, nullable, refineAll, secret, withRule } from './kinds.ts';

const KEEP = 'Give the number of files to keep, from 1 to 1000, such as 7';
const folder = setting(nonEmptyString, 'Give the folder for the files, preferably on another disk, or remove the line');
const to = nullable(
  withRule(nonEmptyString, s3Rule).transform((text) => {
    const { bucket, key } = parseS3Url(text) ?? { bucket: '', key: '' };
    return { bucket, prefix: prefixOf(key) };
  }),
  'Give a place such as s3://bucket/prefix, or remove the line to keep the files in `folder:`',
);

export const backupSchema = z.strictObject({
  cron: setting(cron, cronRemedy('0 2 * * *'), '0 2 * * *'),
  keep: setting(integerBetween(1, 1000), KEEP, 7),
  folder,
  to,
});

export const s3Schema = refineAll(
  z.strictObject({
    endpoint: nullable(address, 'Give the https:// address of the service, or remove the line for Amazon'),
    region: nonEmptyString.describe(
      'Give the region of the bucket, such as eu-central-1, or what the service calls it',
    ),
    access_key_id: setting(nonEmptyString, 'Give the id of the key, best as a variable'),
    secret_access_key: setting(secret, 'Give the secret of the key, best as a variable'),
    ca_file: caFile,
  }),
  (settings, report) => {
    for (const key of ['access_key_id', 'secret_access_key']) {
      if (settings[key] === undefined) report([key], 'is missing');
    }
  },
).transform(({ endpoint, region, access_key_id = '', secret_access_key = '', ca_file: ca = null }) => ({
  ...camelCased({ endpoint, region, access_key_id, secret_access_key }),
  ca,
}));

export const publishSchema = refineAll(
  z.strictObject({
    url: withRule(nonEmptyString, postgresRule).describe(
      'Give an address such as postgres://ledger@db.example.com:5432/finance, with the password as a variable',
    ),
    schema: setting(
      z.string().regex(/^[a-z_][a-z0-9_]{0,62}$/, { error: 'is not a plain name of small letters, digits and _' }),
      'Give a plain name of small letters, digits and _, such as usage_ledger, or remove the line',
      'usage_ledger',
    ),
    tls: setting(
      z.enum(['verify', 'require', 'off']),
      'Choose verify, require for a self-signed certificate, or off for this machine; or remove the line',
    ),
    ca_file: caFile,
    stale_minutes: setting(
      integerBetween(5, 10_080),
      'Give whole minutes from 5 to 10080, such as 30, or remove the line',
      30,
    ),
    unready_when_stale: setting(flag, 'Write true to have /readyz fail when the copy in Postgres is late', false),
  }),
  // Without TLS, the password and every figure of the ledger could be read in the network.
  ({ url, tls }, report) => {
    if (tls !== 'off' || typeof url !== 'string' || postgresRule(url) !== null || isLocalPostgres(url)) return;
    const hint = 'Remove the line, or write `tls: require` for a server with a self-signed certificate';
    report(['tls'], 'is off, but the server is another machine', hint);
  },
).transform(({ tls, ca_file: ca, stale_minutes, ...settings }) =>
  camelCased({
    ...settings,
    ca,
    tls: tls ?? (isLocalPostgres(settings.url) ? 'off' : 'verify'),
    stale_ms: stale_minutes * 60_000,
  }),
);

export const exportSchema = refineAll(
  z.strictObject({
    name: withRule(nonEmptyString, fileNameRule).describe(
      'Give a name for the files, of small letters, digits, - and _',
    ),
    view: z
      .enum([...FINANCE_VIEWS, ...FINANCE_VIEWS.map((view) => `finance_${view}` as const), 'focus'])
      .describe('Give a view of the ledger such as usage or charges, or focus'),
    format: setting(z.enum(['csv', 'json', 'ndjson', 'xlsx', 'parquet']), 'Choose the kind of the files', 'csv'),
    cron: setting(cron, 'Give five fields, such as "0 6 * * *", or write `after: close` instead'),
    after: setting(z.enum(['close']), 'Write `after: close`, or give a `cron:` instead'),
    period: setting(z.enum(['current', 'previous']), 'Choose current or previous, or remove the line for all months'),
    workspace: setting(nonEmptyString, "Give a workspace's id, or remove the line for every workspace"),
    folder,
    to,
    keep: setting(integerBetween(1, 1000), KEEP, 30),
  }),
  (settings, report) => {
    for (const key of settings.after === undefined ? [] : ['cron', 'period']) {
      const message = 'conflicts with after, which sets the time and the month';
      if (settings[key] !== undefined) report([key], message, 'Keep one of the two');
    }
  },
).transform(({ view: named, after, cron, period, ...settings }) => {
  const view = named.replace(/^finance_/, '');
  return {
    ...settings,
    /** The view, without its prefix `finance_`. `focus` is not a view of the ledger. */
    view,
    /** A cron expression of five fields; null if the export is written after a period has been closed. */
    cron: after === 'close' ? null : (cron ?? '0 6 * * *'),
    /** The month that a scheduled export covers; null for all months of the view. */
    period: period ?? (view === 'focus' ? ('previous' as const) : null),
  };
});

/** Names in FOCUS files. Where a name is null, the workspace's name is used. */
export const focusSchema = z
  .strictObject({
    issuer: nullable(nonEmptyString, 'Give the name of the company that bills'),
    publisher: nullable(nonEmptyString, 'Give the name of the company that runs the service'),
    service_name: nullable(nonEmptyString, 'Give the name of the service'),
    service_category: setting(
      nonEmptyString,
      'Give a category of the FOCUS specification, such as Analytics',
      'Analytics',
    ),
    service_subcategory: setting(
      nonEmptyString,
      'Give a subcategory of it, such as Business Intelligence',
      'Business Intelligence',
    ),
  })
  .transform(camelCased);
