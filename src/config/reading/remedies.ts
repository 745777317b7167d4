import { SIGNED_PARTS } from '../signing-scheme.ts';

/** What to do about each setting, by its last name. A test holds this list against the schema. */
const REMEDIES: Readonly<Record<string, string>> = {
  ledger: 'Write `ledger:` with indented `path:`, such as ./data/ledger.db, below it',
  path: 'Give the path of the ledger file, such as ./data/ledger.db',
  retention_days: 'Give a whole number of days from 30 to 36500',
  checkpoint_key_file: 'Give the path of a file that the daemon may create, or remove the line',
  reader_group: 'Give the name of a group, or its number in quotes, or remove the line',
  redis_url: 'Give an address such as redis://127.0.0.1:6379, or leave it empty for a private server',
  redis_allow_plain: 'Write true if the network to Redis is yours alone, or remove the line',
  http: 'Write `http:` with indented `host:`, `port:` and `token:` below it',
  host: 'Give the address to listen on, such as 127.0.0.1',
  port: 'Give a port from 1 to 65535, or 0 to switch the pages off',
  token: 'Set http.token to a random text of 24 characters or more, or listen on 127.0.0.1',
  protect: 'Write true to ask for the token on this machine, too, false to ask for none there, or remove the line',
  proxy: 'Give an address such as http://proxy.example.com:3128, none for no proxy, or remove the line',
  backup: 'Write `backup:` with indented `cron:`, `keep:` and `folder:` below it, or remove it for no backups',
  publish: 'Write `publish:` with an indented `url:` below it, or remove it for no replica',
  schema: 'Give a plain name of small letters, digits and _, such as usage_ledger, or remove the line',
  stale_minutes: 'Give whole minutes from 5 to 10080, such as 30, or remove the line',
  unready_when_stale: 'Write true to have /readyz fail when the replica is late, false to have it only say so',
  keep: 'Give how many files stay, a whole number from 1 to 1000, such as 7',
  folder: 'Give the folder for the files, best on another disk, or remove the line',
  exports: 'List what the daemon is to write: `- name: ...` with `view:`, `format:` and `cron:` or `after: close`',
  view: 'Give a view of the ledger such as usage or charges, or focus',
  format: 'Choose csv, json, ndjson, xlsx or parquet',
  names: "Write true for the tenants' names as a last column, or remove the line",
  after: 'Write `after: close`, or give a `cron:` instead',
  period: 'Choose current or previous, or remove the line for all months',
  version: 'Choose "1.2" or "1.3", or remove the line for 1.2',
  log_level: 'Choose info unless you are looking for a fault, then debug',
  defaults: 'Write `defaults:` with indented settings below it',
  workspaces: 'List at least one workspace: `- id: ...` below `workspaces:`',
  id: "Give the workspace's identifier exactly as the service shows it",
  name: 'Give a name that people will recognise, or remove the line',
  base_url: 'Give the https:// address of the data interface, such as https://prod.dataapi.papermap.ai',
  embed_url: 'Give the https:// address of the embed-token endpoint, such as https://papermap.ai',
  api_key_id: "Give the API key's identifier, exactly as the service shows it",
  secret_key: "Give the API key's secret, best as a variable; in a file, secret_key_file names its path",
  secret_key_file: 'Give the path of a readable file that holds nothing but the secret key',
  ca_file: 'Give the path of a readable PEM file with the certificates of your authority, or remove the line',
  signing: 'Write `signing:` with indented settings below it, or remove it for the defaults',
  payload: `Use ${SIGNED_PARTS.map((name) => `{${name}}`).join(', ')} and text between them, such as "{workspace_id}{valid_until}"`,
  encoding: 'Choose hex, unless the service says otherwise',
  valid_until: 'Choose unix_seconds, unless the service says otherwise',
  valid_for_seconds: 'Give whole seconds from 1 to 86400, such as 300',
  cron: 'Give five fields in UTC: minute, hour, day, month, weekday, such as "*/15 * * * *"',
  reconcile_cron: 'Give five fields in UTC: minute, hour, day, month, weekday, such as "17 3 * * 0"',
  lookback_periods: 'Give a whole number of months from 0 to 120, such as 2',
  settle_hours: 'Give a whole number of hours from 0 to 1440, such as 48',
  per_page: 'Give a whole number from 1 to 100; 100 needs the fewest requests',
  concurrency: 'Give a whole number from 1 to 256, such as 8',
  requests_per_second: 'Give a whole number from 1 to 10000, such as 50',
  consistency: 'Choose auto, unless you know how the service pages',
  workers: 'Give a whole number from 1 to 1000, such as 64',
  shard:
    'Write `shard:` with `index:` and `of:`, or with `only:`, indented below it, or remove it to do all workspaces',
  index: 'Give the number of this shard, from 0 on and below `of`, best as a variable of the host',
  of: 'Give how many shards there are, the same on all hosts, from 1 to 1024',
  only: 'List ids of workspaces below, such as [ws-1, ws-2]',
  run_minutes: 'Give whole minutes from 1 to 1440, such as 30',
  max_records: 'Give a whole number of records, such as 20000000',
  max_pages: 'Give a whole number of pages, such as 1000000',
  max_page_bytes: 'Give whole bytes from 65536 to 33554432, such as 4194304',
  alerts: 'Write `alerts:` with indented settings below it',
  ratio: 'Give a number of 1 or more, such as 1.5',
  min_credits: 'Give a whole number of credits, 0 or more, such as 1000',
  channels: 'List the channels below `channels:`, each beginning with `- type:` log, webhook, slack or email',
  type: 'Write `type: log`, `type: webhook`, `type: slack` or `type: email`',
  min_increase: 'Give credits as a whole number from 1 on, such as 200000, or remove the line',
  budgets: 'Write a list with `credits:` in each item, or remove it',
  at: 'Give percents of the budget, such as [50, 80, 100]',
  per_day: 'Choose false, or true to compare credits per day of the month',
  baseline: 'Choose previous, same_month_last_year, or a group such as { median_of: 3 }',
  pace_min_fraction: 'Give a fraction of the month from 0.01 to 1, such as 0.1',
  tenants: 'List patterns of tenants: `- match: acme-*` with settings below it',
  match: 'Give a tenant id, in which * stands for anything',
  url: 'Give the https:// address that takes the alerts; http:// is for this machine only',
  secret: 'Give the secret that the receiver checks signatures with, best as a variable',
  secrets: 'List the new secret and the old one, best as variables; each of them signs',
  allow_private: 'Write true if the address is inside your own network, or remove the line',
  severities: 'List the severities that this channel is told of: warning, critical, or remove the line for both',
  rules: 'List the rules that this channel is told of, such as jump and incident, or remove the line for all',
  digest_hour: 'Give the hour of the daily digest in UTC, from 0 to 23, or remove the line to be told at once',
  weekly_digest: 'Give a day of the week, such as monday, or remove the line',
  month_end_digest: 'Write true for a review of each month, or remove the line',
  remind_after_hours: 'Give hours from 1 to 720, or remove the line: nobody is reminded then',
  follow_ups: 'Choose digest, or at_once for a receiver that closes by itself what an alert has opened',
  timeout_seconds: 'Give whole seconds from 1 to 30, such as 10',
  tls: 'Choose starttls (port 587) or implicit (port 465), as the mail server says',
  allow_insecure: 'Write true only for a mail server that you reach over a network of your own, or remove the line',
  user: 'Give the user name for the mail server, or remove user and password',
  password: 'Give the password for the mail server, best as a variable, or remove user and password',
  from: 'Give the sender as name@host or as Name <name@host>',
  to: 'List the recipients below `to:`, each as `- name@host`',
  rates: 'List rate cards below `rates:`, each beginning with `- name:`, or remove it',
  from_period: 'Give the first month that the card prices, as YYYY-MM',
  to_period: 'Give the last month that the card prices, as YYYY-MM, or remove the line',
  workspace: "Give a workspace's id, or remove the line for every workspace",
  tenant: 'Give a tenant id, in which * stands for anything, or remove the line for every tenant',
  currency: 'Give a code of ISO 4217, such as EUR',
  priority: 'Give a whole number, the higher counts, or remove the line',
  credit_negative: 'Write true to pay credits below 0 back, or remove the line to price them as 0',
  included_credits: 'Give a whole number of credits, such as 1000, or remove the line',
  price_per_credit: 'Give a decimal in quotes, such as "0.0125"',
  graduated: 'List tiers, each with `price_per_credit:` and all but the last with `up_to:`',
  volume: 'List tiers, each with `price_per_credit:` and all but the last with `up_to:`',
  up_to: 'Give the last credit of the tier, a whole number above that of the tier before; none on the last tier',
  package: 'Write `package: { credits: 1000, price: "9.50" }` with your figures',
  credits: 'Give how many credits a package holds, a whole number',
  price: 'Give the price of a package, a decimal in quotes, such as "9.50"',
  minimum_needs_usage: 'Write true to ask no minimum of who has used no credits, or remove the line',
  minimum: 'Give what is paid at least, a decimal in quotes such as "50.00", or remove the line',
  discount_percent: 'Give a decimal in quotes from "0" to "100", or remove the line',
  rounding: 'Choose half_even or half_up',
  focus: 'Write `focus:` with indented `issuer:` and `publisher:` below it, or remove it',
  issuer: 'Give the name of the company that bills',
  publisher: 'Give the name of the company that runs the service',
  service_name: 'Give the name of the service',
  service_category: 'Give a category of the FOCUS specification, such as Analytics',
  service_subcategory: 'Give a subcategory of it, such as Business Intelligence',
};

/** The same for settings of channels whose names mean something else in other places. */
const CHANNEL_REMEDIES: Readonly<Record<string, string>> = {
  host: 'Give the name of the mail server, such as smtp.example.com; its port stands in `port`',
  port: 'Give the port of the mail server, such as 587 or 465',
};

const PUBLISH_REMEDIES: Readonly<Record<string, string>> = {
  url: 'Give an address such as postgres://ledger@db.example.com:5432/finance, with the password as a variable',
  tls: 'Choose verify, require for a certificate that nobody has signed, or off for this machine; or remove the line',
};

/** The remedy for the setting at this path; list positions do not matter. */
export function remedyFor(path: string): string {
  const name =
    path
      .replace(/\[\d+\]$/, '')
      .split('.')
      .at(-1) ?? path;
  const special = (
    path.startsWith('alerts.channels') ? CHANNEL_REMEDIES : path.startsWith('publish') ? PUBLISH_REMEDIES : {}
  )[name];
  return special ?? REMEDIES[name] ?? 'Compare it with the sample that `usage-ledger init` writes';
}

/** The settings that have a remedy of their own. */
export function remediedSettings(): string[] {
  return Object.keys(REMEDIES);
}
