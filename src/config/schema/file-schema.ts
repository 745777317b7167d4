import { z } from 'zod';
import { rateCardsSchema } from '../../billing/rates/rate-card-schema.ts';
import { isCurrency, parseMinor } from '../../core/money.ts';
import { asList, asMapping } from '../../core/text/path.ts';
import { ROLES } from '../../core/text/roles.ts';
import { flag, integerBetween, nonEmptyString, setting } from '../../core/text/setting-kinds.ts';
import { UTC } from '../../core/time-zone.ts';
import { isLoopbackHost } from '../../net/local-address.ts';
import { proxyRule, type Rule, redisRule } from '../rules.ts';
import { channelName, channelsSchema } from './channels.ts';
import { backupSchema, exportSchema, focusSchema, publishSchema, s3Schema } from './copies.ts';
import {
  address,
  camelCased,
  nonEmptyList,
  nullable,
  READ_ONCE,
  type ReportFault,
  refineAll,
  reportDuplicates,
  secret,
  timezone,
  timezoneRemedy,
  withRule,
} from './kinds.ts';
import { outletSchema } from './outlets.ts';
import { checkSignIn, oidcSchema, proxySignInOf, proxySignInSchema } from './sign-in.ts';
import { defaultsInFile, settingsOf, workspaceInFile, workspaceSchema } from './workspace-settings.ts';

const ledger = z.strictObject({
  path: setting(nonEmptyString, 'Give the path of the ledger file, such as ./data/ledger.db', 'data/ledger.db'),
  // The default keeps certificates of runs without a change, failed runs and sent notifications for a year and the time
  // to review it.
  retention_days: setting(integerBetween(30, 36_500), 'Give a whole number of days from 30 to 36500', 400),
  checkpoint_key_file: setting(
    nonEmptyString,
    'Give the path of a file that the daemon may create, or remove the line',
  ),
  reader_group: setting(nonEmptyString, 'Give the name of a group, or its number in quotes, or remove the line'),
});

/** The minimum number of characters: a shorter token could be guessed from another machine. */
const MIN_TOKEN_LENGTH = 24;
const apiTokenRule: Rule = (text) =>
  text.length >= MIN_TOKEN_LENGTH ? null : `is shorter than ${MIN_TOKEN_LENGTH} characters`;
const tokenNameRule: Rule = (text) =>
  /^[\w.@-]{1,80}$/.test(text) ? null : 'has other characters than letters, digits and . _ @ -';

const apiToken = z.strictObject({
  name: withRule(nonEmptyString, tokenNameRule).describe(
    'Give a name, such as dashboard: changes are recorded under it',
  ),
  role: z
    .enum(ROLES)
    .describe('Choose read, operate (acknowledge alerts, sync) or finance (close months, apply prices)'),
  token: withRule(secret, apiTokenRule).describe(
    `Give a random text of ${MIN_TOKEN_LENGTH} characters or more, as a variable, token_file or token_command`,
  ),
  mcp: z
    .enum(['read', 'write'])
    .optional()
    .describe('Write `write` to let an assistant change what the role allows, or remove the line to let it only read'),
});

const http = refineAll(
  z.strictObject({
    host: setting(nonEmptyString, 'Give the address to listen on, such as 127.0.0.1', '127.0.0.1'),
    port: setting(integerBetween(0, 65_535), 'Give a port from 1 to 65535, or 0 to switch the pages off', 9464),
    token: setting(secret, 'Set http.token to a random text of 24 characters or more, or remove the line'),
    token_file: setting(nonEmptyString, 'Give the path of a file that the daemon may create, or remove the line'),
    tokens: setting(z.array(apiToken), 'List tokens of the API: `- name: ...` with `role:` and `token:`', []),
    ready_when_stale: setting(
      z.string().regex(/^(100|\d{1,2})%$/, { error: 'is not a share such as 10%' }),
      'Give the share of workspaces that may be stale while /readyz says ready, such as 10%, or remove the line for none',
      '0%',
    ),
    public_url: nullable(address, 'Give the https:// address at which people reach the pages, or remove the line'),
    metrics: setting(
      z.enum(['token', 'open']),
      'Write open to let Prometheus read /metrics without the token, or remove the line',
      'token',
    ),
    oidc: nullable(
      oidcSchema,
      'Write `oidc:` with indented `issuer:`, `client_id:` and `roles:` below it, or remove it',
    ),
    proxy_sign_in: nullable(
      proxySignInSchema,
      'Write `proxy_sign_in:` with indented `user_header:` and `roles:` below it, or remove it',
    ),
  }),
  (settings, report) => {
    const { host, token, tokens } = settings;
    checkSignIn(settings, report);
    const apiTokens = asList(tokens).map(asMapping);
    for (const key of ['name', 'token'] as const) {
      const values = apiTokens.map((item) => item[key]);
      reportDuplicates(values, (index) => ['tokens', index, key], `Give each token a ${key} of its own`, report);
    }
    const given = token === undefined ? '' : String(token);
    if (given === '' || given.length >= MIN_TOKEN_LENGTH || typeof host !== 'string' || isLoopbackHost(host)) return;
    report(
      ['token'],
      `is shorter than ${MIN_TOKEN_LENGTH} characters, but http.host can be reached from other machines`,
    );
  },
).transform(({ token, ready_when_stale, public_url, proxy_sign_in, ...http }) => ({
  ...http,
  token: token || null,
  /** Percentage of workspaces that may be stale while `/readyz` reports ready. */
  readyWhenStalePercent: Number.parseInt(ready_when_stale, 10),
  publicUrl: public_url,
  proxySignIn: proxy_sign_in === null ? null : proxySignInOf(proxy_sign_in),
}));

/** A budget in credits, or in money at the prices of a tenant's rate card. */
const budgetSettings = refineAll(
  z.strictObject({
    workspace: setting(nonEmptyString, "Give a workspace's id, or remove the line for every workspace"),
    tenant: nullable(
      nonEmptyString,
      'Give a tenant id, in which * stands for anything, or remove the line for every tenant',
    ),
    credits: setting(
      integerBetween(1, Number.MAX_SAFE_INTEGER),
      'Give how many credits the tenant may use in a month, a whole number from 1 on',
    ),
    amount: setting(z.string().regex(/^\d{1,12}(\.\d{1,4})?$/), "Give an amount as text, such as '500.00'"),
    currency: setting(z.string().refine(isCurrency), 'Give the currency of `amount:` by its code, such as EUR'),
    at: setting(
      nonEmptyList(integerBetween(1, 1000)),
      'Give percents of the budget, such as [50, 80, 100]',
      [50, 80, 100],
    ),
  }),
  ({ tenant, credits, amount, currency }, report) => {
    if ((credits === undefined) === (amount === undefined)) {
      report([], 'needs either credits or an amount', 'Give `credits:`, or `amount:` with `currency:`');
    } else if (amount === undefined) return;
    else if (typeof currency !== 'string' || !isCurrency(currency)) {
      report([], 'has an amount without a currency', 'Give the code of its currency, such as EUR');
    } else if (parseMinor(String(amount), currency) === null) {
      report([], 'has an amount with more decimals than its currency', "Give it as text, such as '500.00'");
    } else if (tenant === null) {
      report([], 'has an amount without a tenant', "Give `tenant: '*'` for every tenant, or `credits:`");
    }
  },
).transform(({ workspace, tenant, credits, amount, currency, at }) => {
  const amountMinor = amount === undefined || currency === undefined ? null : parseMinor(amount, currency);
  return camelCased({
    workspace,
    /** A pattern of tenant ids; null: the workspace's total. */
    tenant,
    /** The limit in credits; null for a budget in money. */
    credits: credits === undefined ? null : BigInt(credits),
    /** The limit in money; undefined for a budget in credits. */
    money: amountMinor === null || currency === undefined ? undefined : { amountMinor, currency },
    /** Percentages of the budget, ascending. Each raises an alert at most once a month. */
    at: [...at].sort((a, b) => a - b),
  });
});

const alertsSection = z
  .strictObject({
    channels: channelsSchema
      .prefault([])
      .describe(
        'List the channels below `channels:`, each beginning with `- type:` log, webhook, slack, teams, pagerduty, email or heartbeat',
      ),
  })
  .transform((group) => group.channels);

const close = z
  .strictObject({
    max_change: nullable(
      z.string().regex(/^\d{1,6}(\.\d{1,2})?%$|^\d{1,15}(\.\d{1,4})?$/),
      "Give a percentage such as 25%, an amount as text such as '500.00', or remove the line for any change",
    ),
  })
  .transform(({ max_change: text }) => ({
    /** The maximum change from the previous month; null for any change. */
    maxChange: text === null ? null : text.endsWith('%') ? { percent: Number.parseFloat(text) } : { amount: text },
  }));

const letterhead = z.strictObject({
  name: nonEmptyString.describe('Give the name of the company that bills'),
  address: setting(z.array(z.string()), 'List its lines below `address:`, each beginning with `- `, or remove it', []),
  logo: nullable(nonEmptyString, 'Give a PNG, JPEG or SVG file of at most 64 KiB, or remove the line'),
  footer: nullable(z.string(), 'Give a line for the foot of each statement, or remove it'),
  language: setting(z.enum(['en', 'de']), 'Choose en or de', 'en'),
});

const statement = z.strictObject({
  number: nullable(
    z.string().regex(/^[^{}]{0,40}\{seq(:0{1,12})?\}[^{}]{0,40}$/),
    "Give a form such as '2026-{seq:0000}', or remove the line for statements without numbers",
  ),
  letterhead: nullable(letterhead, 'Write `letterhead:` with an indented `name:` below it, or remove it'),
});

const settings = z.strictObject({
  ledger: ledger.prefault({}).describe('Write `ledger:` with indented `path:`, such as ./data/ledger.db, below it'),
  redis_url: setting(
    withRule(z.string().trim(), redisRule),
    'Give an address such as redis://127.0.0.1:6379 or unix:///run/redis/redis.sock, or leave it empty for a private server',
  ),
  http: http.prefault({}).describe('Write `http:` with indented `host:`, `port:` and `token:` below it'),
  redis_allow_plain: setting(flag, 'Write true if the network to Redis is private, or remove the line'),
  timezone: setting(timezone, timezoneRemedy('UTC'), UTC),
  proxy: setting(
    withRule(z.string().trim(), proxyRule),
    'Give an address such as http://proxy.example.com:3128, none for no proxy, or remove the line',
  ),
  workers: setting(integerBetween(1, 1000), 'Give a whole number from 1 to 1000, such as 64', 64),
  log_level: setting(
    z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']),
    'Choose info, or debug to look for a fault',
    'info',
  ),
  defaults: setting(defaultsInFile, 'Write `defaults:` with indented settings below it'),
  workspaces: nonEmptyList(workspaceInFile).describe('List at least one workspace: `- id: ...` below `workspaces:`'),
  alerts: alertsSection.prefault({}).describe('Write `alerts:` with indented `channels:` below it'),
  budgets: setting(z.array(budgetSettings), 'Write a list with `credits:` in each item, or remove it', []),
  s3: nullable(
    s3Schema,
    'Write `s3:` with `region:`, `access_key_id:` and `secret_access_key:` below it, or remove it',
  ),
  backup: nullable(backupSchema, 'Write `backup:` with indented `cron:`, `keep:` and `folder:` below it, or remove it'),
  publish: nullable(
    publishSchema,
    'Write `publish:` with an indented `url:` below it, or remove it to publish nowhere',
  ),
  exports: setting(z.array(exportSchema), 'List exports: `- name: ...` with `view:` and `cron:` or `after: close`', []),
  outlets: setting(z.array(outletSchema), 'List billing systems: `- name: ...` with `type:` and its address', []),
  rates: nullable(rateCardsSchema, 'List rate cards below `rates:`, each beginning with `- name:`, or remove it'),
  costs: nullable(
    rateCardsSchema,
    'List cards of what the provider charges below `costs:`, as below `rates:`, or remove it',
  ),
  close: close.prefault({}).describe('Write `close:` with an indented `max_change:` below it, or remove it'),
  statement: statement
    .prefault({})
    .describe('Write `statement:` with indented `number:` or `letterhead:` below it, or remove it'),
  focus: focusSchema
    .prefault({})
    .describe('Write `focus:` with indented `issuer:` and `publisher:` below it, or remove it'),
});

/**
 * The schema of `usage-ledger.yml`: the single source of each setting's type, default and remedy (its description), and
 * of checks that span several settings. Such checks run even if some settings are invalid, so that all faults are
 * reported together.
 */
export const fileSchema = refineAll(settings, (document, report) => {
  checkRedisEncryption(document, report);
  checkS3Settings(document, report);
  checkWorkspaces(document, report);
  checkOutletSettings(document, report);
  const exportNames = asList(document.exports).map((item) => asMapping(item).name);
  const exportHint = 'Give each export a unique name: its files are named after it';
  reportDuplicates(exportNames, (index) => ['exports', index, 'name'], exportHint, report);
  const outletNames = asList(document.outlets).map((item) => asMapping(item).name);
  const outletHint = 'Give each outlet a unique name: the ledger records sent events under it';
  reportDuplicates(outletNames, (index) => ['outlets', index, 'name'], outletHint, report);
  const channelNames = asList(asMapping(document.alerts).channels).map((item, index) =>
    channelName(asMapping(item), index),
  );
  const channelHint = 'Give each channel a unique name';
  reportDuplicates(channelNames, (index) => ['alerts', 'channels', index, 'name'], channelHint, report);
});

export type FileConfig = z.output<typeof fileSchema>;

/**
 * Rejects an unencrypted connection to a Redis on another machine, which would show the password and the queue to the
 * network.
 */
function checkRedisEncryption(
  { redis_url, redis_allow_plain }: Record<PropertyKey, unknown>,
  report: ReportFault,
): void {
  if (typeof redis_url !== 'string' || !URL.canParse(redis_url)) return;
  const { protocol, hostname } = new URL(redis_url);
  if (protocol !== 'redis:' || isLoopbackHost(hostname) || redis_allow_plain === true) return;
  const hint = 'Use rediss://, or set `redis_allow_plain: true` if the network in between is private';
  report(['redis_url'], 'uses redis:// to another machine, which encrypts nothing', hint);
}

function checkS3Settings({ s3, backup, exports }: Record<PropertyKey, unknown>, report: ReportFault): void {
  const places = [backup, ...asList(exports)].map((item) => asMapping(item).to);
  if (s3 !== null || places.every((to) => to === null || to === undefined)) return;
  const hint = 'Write `s3:` with `region:`, `access_key_id:` and `secret_access_key:`';
  report(['s3'], 'is missing, but `to:` needs it', hint);
}

const ONE_KEY: readonly string[] = ['api_key_id', 'secret_key'];

function checkKeys(places: readonly unknown[], report: (message: string, hint: string) => void): void {
  const single = ONE_KEY.find((key) => places.some((place) => asMapping(place)[key] !== undefined));
  if (single === undefined) return;
  report(`conflicts with ${single}: only one of the two may be set`, 'Keep one of the two');
}

function checkOutletSettings({ outlets, workspaces }: Record<PropertyKey, unknown>, report: ReportFault): void {
  const ids = asList(workspaces).map((workspace) => asMapping(workspace).id);
  for (const [index, item] of asList(outlets).entries()) {
    for (const [at, id] of asList(asMapping(item).workspaces).entries()) {
      const hint = 'Give the id of one below `workspaces:` of this file, or remove the line for all of them';
      if (!ids.includes(id)) report(['outlets', index, 'workspaces', at], 'is not a workspace of this file', hint);
    }
  }
}

function checkWorkspaces({ workspaces, defaults, ...others }: Record<PropertyKey, unknown>, report: ReportFault): void {
  for (const [index, workspace] of asList(workspaces).entries()) {
    const merged = settingsOf(workspace, defaults);
    if (merged.keys !== undefined)
      checkKeys([workspace, defaults], (...fault) => report(['workspaces', index, 'keys'], ...fault));
    for (const { path } of workspaceSchema.safeParse(merged, READ_ONCE).error?.issues ?? []) {
      const key = String(path[0]);
      // The schema of the file reports a missing id.
      const isReportedHere = key !== 'id' && !(merged.keys !== undefined && ONE_KEY.includes(key));
      if (isReportedHere && merged[key] === undefined) report(['workspaces', index, key], 'is missing');
    }
  }
  const ids = asList(workspaces).map((workspace) => asMapping(workspace).id);
  reportDuplicates(ids, (index) => ['workspaces', index, 'id'], 'Give each workspace once', report);
  for (const list of ['budgets', 'rates', 'costs', 'exports']) {
    for (const [index, item] of asList(others[list]).entries()) {
      const { workspace } = asMapping(item);
      if (workspace === undefined || ids.includes(workspace)) continue;
      const hint = 'Give the id of one below `workspaces:`, or remove the line for all of them';
      report([list, index, 'workspace'], 'is not a workspace of this file', hint);
    }
  }
}
