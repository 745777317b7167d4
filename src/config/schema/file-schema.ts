import { z } from 'zod';
import { rateCardsSchema } from '../../billing/rates/rate-card-schema.ts';
import { isCurrency, parseMinor } from '../../core/money.ts';
import { isLoopbackHost } from '../../core/net/public-address.ts';
import { groupOf, listOf } from '../../core/text/path.ts';
import { flag, integer, nonEmptyString, setting } from '../../core/text/setting-kinds.ts';
import { proxyRule, redisRule } from '../rules.ts';
import { channelName, channels } from './channels.ts';
import { backup, exportFile, focus, publish, s3 } from './copies.ts';
import {
  address,
  camelCased,
  judged,
  obeys,
  orNull,
  READ_ONCE,
  secret,
  some,
  type TellFault,
  tellDoubles,
} from './kinds.ts';
import { outlet } from './outlets.ts';
import { defaultsInFile, settingsOf, workspaceInFile, workspaceSchema } from './workspace-settings.ts';

const ledger = z.strictObject({
  path: setting(nonEmptyString, 'Give the path of the ledger file, such as ./data/ledger.db', 'data/ledger.db'),
  // A year and the time to look back on it: certificates of runs without a change, failed runs, sent notifications.
  retention_days: setting(integer(30, 36_500), 'Give a whole number of days from 30 to 36500', 400),
  checkpoint_key_file: setting(
    nonEmptyString,
    'Give the path of a file that the daemon may create, or remove the line',
  ),
  reader_group: setting(nonEmptyString, 'Give the name of a group, or its number in quotes, or remove the line'),
});

/** Of a token that other machines can guess at. */
const SHORTEST_TOKEN = 24;

const http = judged(
  z.strictObject({
    host: setting(nonEmptyString, 'Give the address to listen on, such as 127.0.0.1', '127.0.0.1'),
    port: setting(integer(0, 65_535), 'Give a port from 1 to 65535, or 0 to switch the pages off', 9464),
    token: setting(secret, 'Set http.token to a random text of 24 characters or more, or remove the line'),
    token_file: setting(nonEmptyString, 'Give the path of a file that the daemon may create, or remove the line'),
    ready_when_stale: setting(
      z.string().regex(/^(100|\d{1,2})%$/, { error: 'is not a share such as 10%' }),
      'Give the share of workspaces that may be stale while /readyz says ready, such as 10%, or remove the line for none',
      '0%',
    ),
    public_url: orNull(address, 'Give the https:// address at which people reach the pages, or remove the line'),
    metrics: setting(
      z.enum(['token', 'open']),
      'Write open to let Prometheus read /metrics without the token, or remove the line',
      'token',
    ),
  }),
  ({ host, token }, tell) => {
    const given = token === undefined ? '' : String(token);
    if (given === '' || given.length >= SHORTEST_TOKEN || typeof host !== 'string' || isLoopbackHost(host)) return;
    tell(['token'], `is shorter than ${SHORTEST_TOKEN} characters, but http.host can be reached from other machines`);
  },
).transform(({ token, ready_when_stale, public_url, ...http }) => ({
  ...http,
  token: token || null,
  /** The percentage of workspaces that may be stale while `/readyz` says ready. */
  readyWhenStalePercent: Number.parseInt(ready_when_stale, 10),
  publicUrl: public_url,
}));

/** A budget is one of credits, or of money, which a tenant's rate card makes of credits. */
const budget = judged(
  z.strictObject({
    workspace: setting(nonEmptyString, "Give a workspace's id, or remove the line for every workspace"),
    tenant: orNull(
      nonEmptyString,
      'Give a tenant id, in which * stands for anything, or remove the line for every tenant',
    ),
    credits: setting(
      integer(1, Number.MAX_SAFE_INTEGER),
      'Give how many credits the tenant may use in a month, a whole number from 1 on',
    ),
    amount: setting(z.string().regex(/^\d{1,12}(\.\d{1,4})?$/), "Give an amount as text, such as '500.00'"),
    currency: setting(z.string().refine(isCurrency), 'Give the currency of `amount:` by its code, such as EUR'),
    at: setting(some(integer(1, 1000)), 'Give percents of the budget, such as [50, 80, 100]', [50, 80, 100]),
  }),
  ({ tenant, credits, amount, currency }, tell) => {
    if ((credits === undefined) === (amount === undefined)) {
      tell([], 'needs either credits or an amount', 'Give `credits:`, or `amount:` with `currency:`');
    } else if (amount === undefined) return;
    else if (typeof currency !== 'string' || !isCurrency(currency)) {
      tell([], 'has an amount without a currency', 'Give the code of its currency, such as EUR');
    } else if (parseMinor(String(amount), currency) === null) {
      tell([], 'has an amount with more decimals than its currency', "Give it as text, such as '500.00'");
    } else if (tenant === null) {
      tell([], 'has an amount without a tenant', "Give `tenant: '*'` for every tenant, or `credits:`");
    }
  },
).transform(({ workspace, tenant, credits, amount, currency, at }) => {
  const amountMinor = amount === undefined || currency === undefined ? null : parseMinor(amount, currency);
  return camelCased({
    workspace,
    /** A pattern of tenants; null: the workspace's total. */
    tenant,
    /** Null for one in money. */
    credits: credits === undefined ? null : BigInt(credits),
    /** What the credits of a tenant may cost by its rate card. */
    money: amountMinor === null || currency === undefined ? undefined : { amountMinor, currency },
    /** Percent of it that are told of, ascending, each once a month. */
    at: [...at].sort((a, b) => a - b),
  });
});

const alerts = z
  .strictObject({
    channels: channels
      .prefault([])
      .describe(
        'List the channels below `channels:`, each beginning with `- type:` log, webhook, slack, teams, pagerduty, email or heartbeat',
      ),
  })
  .transform((group) => group.channels);

const close = z
  .strictObject({
    max_change: orNull(
      z.string().regex(/^\d{1,6}(\.\d{1,2})?%$|^\d{1,15}(\.\d{1,4})?$/),
      "Give a percentage such as 25%, an amount as text such as '500.00', or remove the line for any change",
    ),
  })
  .transform(({ max_change: text }) => ({
    /** By how much a month may differ from the one before it; null: by anything. */
    maxChange: text === null ? null : text.endsWith('%') ? { percent: Number.parseFloat(text) } : { amount: text },
  }));

const letterhead = z.strictObject({
  name: nonEmptyString.describe('Give the name of who bills'),
  address: setting(z.array(z.string()), 'List its lines below `address:`, each beginning with `- `, or remove it', []),
  logo: orNull(nonEmptyString, 'Give a PNG, JPEG or SVG file of at most 64 KiB, or remove the line'),
  footer: orNull(z.string(), 'Give a line for the foot of each statement, or remove it'),
  language: setting(z.enum(['en', 'de']), 'Choose en or de', 'en'),
});

const statement = z.strictObject({
  number: orNull(
    z.string().regex(/^[^{}]{0,40}\{seq(:0{1,12})?\}[^{}]{0,40}$/),
    "Give a form such as '2026-{seq:0000}', or remove the line for statements without numbers",
  ),
  letterhead: orNull(letterhead, 'Write `letterhead:` with an indented `name:` below it, or remove it'),
});

const settings = z.strictObject({
  ledger: ledger.prefault({}).describe('Write `ledger:` with indented `path:`, such as ./data/ledger.db, below it'),
  redis_url: setting(
    obeys(z.string().trim(), redisRule),
    'Give an address such as redis://127.0.0.1:6379 or unix:///run/redis/redis.sock, or leave it empty for a private server',
  ),
  http: http.prefault({}).describe('Write `http:` with indented `host:`, `port:` and `token:` below it'),
  redis_allow_plain: setting(flag, 'Write true if the network to Redis is yours alone, or remove the line'),
  proxy: setting(
    obeys(z.string().trim(), proxyRule),
    'Give an address such as http://proxy.example.com:3128, none for no proxy, or remove the line',
  ),
  workers: setting(integer(1, 1000), 'Give a whole number from 1 to 1000, such as 64', 64),
  log_level: setting(
    z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']),
    'Choose info unless you are looking for a fault, then debug',
    'info',
  ),
  defaults: setting(defaultsInFile, 'Write `defaults:` with indented settings below it'),
  workspaces: some(workspaceInFile).describe('List at least one workspace: `- id: ...` below `workspaces:`'),
  alerts: alerts.prefault({}).describe('Write `alerts:` with indented `channels:` below it'),
  budgets: setting(z.array(budget), 'Write a list with `credits:` in each item, or remove it', []),
  s3: orNull(s3, 'Write `s3:` with `region:`, `access_key_id:` and `secret_access_key:` below it, or remove it'),
  backup: orNull(backup, 'Write `backup:` with indented `cron:`, `keep:` and `folder:` below it, or remove it'),
  publish: orNull(publish, 'Write `publish:` with an indented `url:` below it, or remove it to publish nowhere'),
  exports: setting(z.array(exportFile), 'List exports: `- name: ...` with `view:` and `cron:` or `after: close`', []),
  outlets: setting(z.array(outlet), 'List billing systems: `- name: ...` with `type:` and its address', []),
  rates: orNull(rateCardsSchema, 'List rate cards below `rates:`, each beginning with `- name:`, or remove it'),
  costs: orNull(
    rateCardsSchema,
    'List cards of what the provider charges below `costs:`, as below `rates:`, or remove it',
  ),
  close: close.prefault({}).describe('Write `close:` with an indented `max_change:` below it, or remove it'),
  statement: statement
    .prefault({})
    .describe('Write `statement:` with indented `number:` or `letterhead:` below it, or remove it'),
  focus: focus.prefault({}).describe('Write `focus:` with indented `issuer:` and `publisher:` below it, or remove it'),
});

/**
 * `usage-ledger.yml`, from which everything about a setting comes: its kind, its default, what to do about a mistake in it,
 * which is its description, and what settings mean together. That is judged beside their mistakes, so that none hides another.
 */
export const fileSchema = judged(settings, (document, tell) => {
  judgeRedis(document, tell);
  judgeStore(document, tell);
  judgeWorkspaces(document, tell);
  judgeOutlets(document, tell);
  const exportNames = listOf(document.exports).map((item) => groupOf(item).name);
  const exportHint = 'Give each export a name of its own: its files are called after it';
  tellDoubles(exportNames, (index) => ['exports', index, 'name'], exportHint, tell);
  const outletNames = listOf(document.outlets).map((item) => groupOf(item).name);
  const outletHint = 'Give each outlet a name of its own: the ledger keeps by it what was sent';
  tellDoubles(outletNames, (index) => ['outlets', index, 'name'], outletHint, tell);
  const channelNames = listOf(groupOf(document.alerts).channels).map((item, index) =>
    channelName(groupOf(item), index),
  );
  const channelHint = 'Give each channel a name of its own';
  tellDoubles(channelNames, (index) => ['alerts', 'channels', index, 'name'], channelHint, tell);
});

export type FileConfig = z.output<typeof fileSchema>;

/** A password in the clear, and the queue with it, would lie open to the network. */
function judgeRedis({ redis_url, redis_allow_plain }: Record<PropertyKey, unknown>, tell: TellFault): void {
  if (typeof redis_url !== 'string' || !URL.canParse(redis_url)) return;
  const { protocol, hostname } = new URL(redis_url);
  if (protocol !== 'redis:' || isLoopbackHost(hostname) || redis_allow_plain === true) return;
  const hint = 'Use rediss://, or set `redis_allow_plain: true` if the network between is yours alone';
  tell(['redis_url'], 'uses redis:// to another machine, which encrypts nothing', hint);
}

function judgeStore({ s3, backup, exports }: Record<PropertyKey, unknown>, tell: TellFault): void {
  const places = [backup, ...listOf(exports)].map((item) => groupOf(item).to);
  if (s3 !== null || places.every((to) => to === null || to === undefined)) return;
  const hint = 'Write `s3:` with `region:`, `access_key_id:` and `secret_access_key:`';
  tell(['s3'], 'is missing, but `to:` needs it', hint);
}

const ONE_KEY: readonly string[] = ['api_key_id', 'secret_key'];

function judgeKeys(places: readonly unknown[], tell: (message: string, hint: string) => void): void {
  const single = ONE_KEY.find((key) => places.some((place) => groupOf(place)[key] !== undefined));
  if (single === undefined) return;
  tell(`stands beside ${single}, and it is unclear which of the two counts`, 'Keep one of the two');
}

function judgeOutlets({ outlets, workspaces }: Record<PropertyKey, unknown>, tell: TellFault): void {
  const ids = listOf(workspaces).map((workspace) => groupOf(workspace).id);
  for (const [index, item] of listOf(outlets).entries()) {
    for (const [at, id] of listOf(groupOf(item).workspaces).entries()) {
      const hint = 'Give the id of one below `workspaces:` of this file, or remove the line for all of them';
      if (!ids.includes(id)) tell(['outlets', index, 'workspaces', at], 'is no workspace of this file', hint);
    }
  }
}

function judgeWorkspaces({ workspaces, defaults, ...others }: Record<PropertyKey, unknown>, tell: TellFault): void {
  for (const [index, workspace] of listOf(workspaces).entries()) {
    const merged = settingsOf(workspace, defaults);
    if (merged.keys !== undefined)
      judgeKeys([workspace, defaults], (...fault) => tell(['workspaces', index, 'keys'], ...fault));
    for (const { path } of workspaceSchema.safeParse(merged, READ_ONCE).error?.issues ?? []) {
      const key = String(path[0]);
      // The schema of the file itself asks for the id.
      const isAsked = key !== 'id' && !(merged.keys !== undefined && ONE_KEY.includes(key));
      if (isAsked && merged[key] === undefined) tell(['workspaces', index, key], 'is missing');
    }
  }
  const ids = listOf(workspaces).map((workspace) => groupOf(workspace).id);
  tellDoubles(ids, (index) => ['workspaces', index, 'id'], 'Give each workspace once', tell);
  for (const list of ['budgets', 'rates', 'costs', 'exports']) {
    for (const [index, item] of listOf(others[list]).entries()) {
      const { workspace } = groupOf(item);
      if (workspace === undefined || ids.includes(workspace)) continue;
      const hint = 'Give the id of one below `workspaces:`, or remove the line for all of them';
      tell([list, index, 'workspace'], 'is no workspace of this file', hint);
    }
  }
}
