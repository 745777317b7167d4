import { z } from 'zod';
import { integer, numeric, setting, word } from '../../core/text/setting-kinds.ts';
import { identifierRule, payloadRule, secretRule } from '../rules.ts';
import { SIGNED_PARTS } from '../signing-scheme.ts';
import { address, cron, obeys } from './obeys.ts';

/** How the alert rules judge; for a workspace, and for some of its tenants. */
const ruleSettings = {
  ratio: setting(numeric(z.number().min(1)), 'Give a number of 1 or more, such as 1.5'),
  min_credits: setting(numeric(z.int().min(0)), 'Give a whole number of credits, 0 or more, such as 1000'),
  baseline: setting(
    z.enum(['previous', 'same_month_last_year']),
    'Choose previous, or same_month_last_year for use that has its seasons',
  ),
  pace_min_fraction: setting(
    numeric(z.number().min(0.01).max(1)),
    'Give a fraction of the month from 0.01 to 1, such as 0.1',
  ),
};

/** The group `alerts` of `defaults` and of each workspace. */
export const alertsSchema = z.strictObject({
  ...ruleSettings,
  tenants: setting(
    z.array(
      z.strictObject({ match: word.describe('Give a tenant id, in which * stands for anything'), ...ruleSettings }),
    ),
    'List patterns of tenants: `- match: acme-*` with settings below it',
  ),
});

const signing = z.strictObject({
  payload: setting(
    obeys(z.string(), payloadRule),
    `Use ${SIGNED_PARTS.map((name) => `{${name}}`).join(', ')} and text between them, such as "{workspace_id}{valid_until}"`,
  ),
  encoding: setting(z.enum(['hex', 'base64', 'base64url']), 'Choose hex, unless the service says otherwise'),
  valid_until: setting(
    z.enum(['unix_seconds', 'unix_millis', 'iso8601']),
    'Choose unix_seconds, unless the service says otherwise',
  ),
  valid_for_seconds: setting(integer(1, 86_400), 'Give whole seconds from 1 to 86400, such as 300'),
});

/** What `defaults` and each workspace can set. */
export const workspaceSettings = {
  base_url: setting(
    address,
    'Give the https:// address of the data interface, such as https://prod.dataapi.papermap.ai',
  ),
  embed_url: setting(address, 'Give the https:// address of the embed-token endpoint, such as https://papermap.ai'),
  api_key_id: setting(obeys(word, identifierRule), "Give the API key's identifier, exactly as the service shows it"),
  secret_key: setting(
    obeys(z.string().min(1), secretRule),
    "Give the API key's secret, best as a variable; in a file, secret_key_file names its path",
  ),
  secret_key_file: setting(word, 'Give the path of a readable file that holds nothing but the secret key'),
  ca_file: setting(
    word,
    'Give the path of a readable PEM file with the certificates of your authority, or remove the line',
  ),
  signing: setting(signing, 'Write `signing:` with indented settings below it, or remove it for the defaults'),
  cron: setting(cron, 'Give five fields in UTC: minute, hour, day, month, weekday, such as "*/15 * * * *"'),
  reconcile_cron: setting(cron, 'Give five fields in UTC: minute, hour, day, month, weekday, such as "17 3 * * 0"'),
  lookback_periods: setting(integer(0, 120), 'Give a whole number of months from 0 to 120, such as 2'),
  settle_hours: setting(integer(0, 1440), 'Give a whole number of hours from 0 to 1440, such as 48'),
  per_page: setting(integer(1, 100), 'Give a whole number from 1 to 100; 100 needs the fewest requests'),
  concurrency: setting(integer(1, 256), 'Give a whole number from 1 to 256, such as 8'),
  requests_per_second: setting(integer(1, 10_000), 'Give a whole number from 1 to 10000, such as 50'),
  consistency: setting(z.enum(['auto', 'twice', 'counted']), 'Choose auto, unless you know how the service pages'),
  run_minutes: setting(integer(1, 1440), 'Give whole minutes from 1 to 1440, such as 30'),
  max_records: setting(integer(1, 1_000_000_000), 'Give a whole number of records, such as 20000000'),
  max_pages: setting(integer(1, 100_000_000), 'Give a whole number of pages, such as 1000000'),
  max_page_bytes: setting(integer(65_536, 33_554_432), 'Give whole bytes from 65536 to 33554432, such as 4194304'),
  alerts: setting(alertsSchema, 'Write `alerts:` with indented settings below it'),
};
