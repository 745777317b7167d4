import { z } from 'zod';
import { rateCardsSchema } from '../../billing/rates/rate-card-schema.ts';
import { isCurrency } from '../../core/money.ts';
import { flag, integer, setting, word } from '../../core/text/setting-kinds.ts';
import { identifierRule, proxyRule, redisRule } from '../rules.ts';
import { channel } from './channels.ts';
import { address, obeys, secret } from './obeys.ts';
import { backup, exportFile, focus, publish, s3 } from './outlets.ts';
import { type alertsSchema, workspaceSettings } from './workspace-settings.ts';

const ledger = z.strictObject({
  path: setting(word, 'Give the path of the ledger file, such as ./data/ledger.db'),
  retention_days: setting(integer(30, 36_500), 'Give a whole number of days from 30 to 36500'),
  checkpoint_key_file: setting(word, 'Give the path of a file that the daemon may create, or remove the line'),
  reader_group: setting(word, 'Give the name of a group, or its number in quotes, or remove the line'),
});

const http = z.strictObject({
  host: setting(word, 'Give the address to listen on, such as 127.0.0.1'),
  port: setting(integer(0, 65_535), 'Give a port from 1 to 65535, or 0 to switch the pages off'),
  token: setting(secret, 'Set http.token to a random text of 24 characters or more, or listen on 127.0.0.1'),
  ready_when_stale: setting(
    z.string().regex(/^(100|\d{1,2})%$/, { error: 'is not a share such as 10%' }),
    'Give the share of workspaces that may be stale while /readyz says ready, such as 10%, or remove the line for none',
  ),
  public_url: setting(address, 'Give the https:// address at which people reach the pages, or remove the line'),
  protect: setting(
    flag,
    'Write true to ask for the token on this machine, too, false to ask for none there, or remove the line',
  ),
});

const workspace = z.strictObject({
  id: obeys(word, identifierRule).describe("Give the workspace's identifier exactly as the service shows it"),
  name: setting(word, 'Give a name that people will recognise, or remove the line'),
  ...workspaceSettings,
});

const budget = z.strictObject({
  workspace: setting(word, "Give a workspace's id, or remove the line for every workspace"),
  tenant: setting(word, 'Give a tenant id, in which * stands for anything, or remove the line for every tenant'),
  credits: setting(
    integer(1, Number.MAX_SAFE_INTEGER),
    'Give how many credits the tenant may use in a month, a whole number from 1 on',
  ),
  amount: setting(
    z.string().regex(/^\d{1,12}(\.\d{1,4})?$/),
    "Give an amount as text, such as '500.00', in place of `credits:`",
  ),
  currency: setting(z.string().refine(isCurrency), 'Give the currency of `amount:` by its code, such as EUR'),
  at: setting(z.array(integer(1, 1000)).min(1), 'Give percents of the budget, such as [50, 80, 100]'),
});

const alerts = z.strictObject({
  channels: setting(
    z.array(channel),
    'List the channels below `channels:`, each beginning with `- type:` log, webhook, slack or email',
  ),
});

/**
 * The shape of `usage-ledger.yml`, each value judged on its own; what settings mean together is judged in
 * `cross-checks.ts`, so that a mistake in one place never hides one in another. Each setting's description is what to do
 * about a mistake in it.
 */
export const fileSchema = z.strictObject({
  ledger: setting(ledger, 'Write `ledger:` with indented `path:`, such as ./data/ledger.db, below it'),
  redis_url: setting(
    obeys(z.string().trim(), redisRule),
    'Give an address such as redis://127.0.0.1:6379, or leave it empty for a private server',
  ),
  http: setting(http, 'Write `http:` with indented `host:`, `port:` and `token:` below it'),
  redis_allow_plain: setting(flag, 'Write true if the network to Redis is yours alone, or remove the line'),
  proxy: setting(
    obeys(z.string().trim(), proxyRule),
    'Give an address such as http://proxy.example.com:3128, none for no proxy, or remove the line',
  ),
  workers: setting(integer(1, 1000), 'Give a whole number from 1 to 1000, such as 64'),
  log_level: setting(
    z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']),
    'Choose info unless you are looking for a fault, then debug',
  ),
  defaults: setting(z.strictObject(workspaceSettings), 'Write `defaults:` with indented settings below it'),
  workspaces: z.array(workspace).min(1).describe('List at least one workspace: `- id: ...` below `workspaces:`'),
  alerts: setting(alerts, 'Write `alerts:` with indented `channels:` below it'),
  budgets: setting(z.array(budget), 'Write a list with `credits:` in each item, or remove it'),
  s3: setting(
    s3,
    'Write `s3:` with indented `region:`, `access_key_id:` and `secret_access_key:` below it, or remove it',
  ),
  backup: setting(
    backup,
    'Write `backup:` with indented `cron:`, `keep:` and `folder:` below it, or remove it for no backups',
  ),
  publish: setting(publish, 'Write `publish:` with an indented `url:` below it, or remove it to publish nowhere'),
  exports: setting(
    z.array(exportFile),
    'List what the daemon is to write: `- name: ...` with `view:`, `format:` and `cron:` or `after: close`',
  ),
  rates: setting(rateCardsSchema, 'List rate cards below `rates:`, each beginning with `- name:`, or remove it'),
  focus: setting(focus, 'Write `focus:` with indented `issuer:` and `publisher:` below it, or remove it'),
});

export type FileConfig = z.infer<typeof fileSchema>;
export type FileSettings = z.infer<z.ZodObject<typeof workspaceSettings>>;
export type FileWorkspace = FileConfig['workspaces'][number];
export type FileChannel = z.infer<typeof channel>;
export type FileAlerts = z.infer<typeof alertsSchema>;
export type FileRuleSettings = Omit<FileAlerts, 'tenants'>;
