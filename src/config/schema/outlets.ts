import { z } from 'zod';
import { FINANCE_VIEWS } from '../../core/text/finance-views.ts';
import { flag, integer, setting, word } from '../../core/text/setting-kinds.ts';
import { fileNameRule, postgresRule, s3Rule } from '../rules.ts';
import { address, cron, obeys, secret } from './obeys.ts';

const keep = setting(integer(1, 1000), 'Give how many files stay, a whole number from 1 to 1000, such as 7');
const folder = setting(word, 'Give the folder for the files, best on another disk, or remove the line');
const to = setting(
  obeys(word, s3Rule),
  'Give a place such as s3://bucket/prefix, or remove the line to keep the files in `folder:`',
);

export const backup = z.strictObject({
  cron: setting(cron, 'Give five fields in UTC: minute, hour, day, month, weekday, such as "0 2 * * *"'),
  keep,
  folder,
  to,
});

export const s3 = z.strictObject({
  endpoint: setting(address, 'Give the https:// address of the service, or remove the line for Amazon'),
  region: word.describe(
    'Give the region of the bucket, such as eu-central-1; where there are none, what the service says',
  ),
  access_key_id: setting(word, 'Give the id of the key, best as a variable'),
  access_key_id_file: setting(
    word,
    'Give the path of a readable file that holds the id of the key, or remove the line',
  ),
  secret_access_key: setting(secret, 'Give the secret of the key, best as a variable'),
  secret_access_key_file: setting(
    word,
    'Give the path of a readable file that holds only the secret, or remove the line',
  ),
  ca_file: setting(
    word,
    'Give the path of a readable PEM file with the certificates of your authority, or remove the line',
  ),
});

export const publish = z.strictObject({
  url: obeys(word, postgresRule).describe(
    'Give an address such as postgres://ledger@db.example.com:5432/finance, with the password as a variable',
  ),
  schema: setting(
    z.string().regex(/^[a-z_][a-z0-9_]{0,62}$/, { error: 'is not a plain name of small letters, digits and _' }),
    'Give a plain name of small letters, digits and _, such as usage_ledger, or remove the line',
  ),
  tls: setting(
    z.enum(['verify', 'require', 'off']),
    'Choose verify, require for a certificate that nobody has signed, or off for this machine; or remove the line',
  ),
  ca_file: setting(
    word,
    'Give the path of a readable PEM file with the certificates of your authority, or remove the line',
  ),
  stale_minutes: setting(integer(5, 10_080), 'Give whole minutes from 5 to 10080, such as 30, or remove the line'),
  unready_when_stale: setting(
    flag,
    'Write true to have /readyz fail when the copy in Postgres is late, false to have it only say so',
  ),
});

export const exportFile = z.strictObject({
  name: obeys(word, fileNameRule).describe(
    'Give a name of small letters, digits, - and _: the files are called after it',
  ),
  view: z
    .enum([...FINANCE_VIEWS, ...FINANCE_VIEWS.map((view) => `finance_${view}` as const), 'focus'])
    .describe('Give a view of the ledger such as usage or charges, or focus'),
  format: setting(z.enum(['csv', 'json', 'ndjson', 'xlsx', 'parquet']), 'Choose csv, json, ndjson, xlsx or parquet'),
  cron: setting(cron, 'Give five fields in UTC, such as "0 6 * * *", or write `after: close` instead'),
  after: setting(z.enum(['close']), 'Write `after: close`, or give a `cron:` instead'),
  period: setting(z.enum(['current', 'previous']), 'Choose current or previous, or remove the line for all months'),
  workspace: setting(word, "Give a workspace's id, or remove the line for every workspace"),
  folder,
  to,
  keep,
});

export const focus = z.strictObject({
  issuer: setting(word, 'Give the name of the company that bills'),
  publisher: setting(word, 'Give the name of the company that runs the service'),
  service_name: setting(word, 'Give the name of the service'),
  service_category: setting(word, 'Give a category of the FOCUS specification, such as Analytics'),
  service_subcategory: setting(word, 'Give a subcategory of it, such as Business Intelligence'),
});
