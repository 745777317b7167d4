import { isIP } from 'node:net';
import { z } from 'zod';
import { RULES, SEVERITIES } from '../../core/text/alert-words.ts';
import { flag, integerBetween, nonEmptyString, setting } from '../../core/text/setting-kinds.ts';
import { isLoopbackHost } from '../../net/local-address.ts';
import { nonPublicKind } from '../../net/public-address.ts';
import { channelAddressRule, hostRule, hoursRule, mailboxRule, weekdaysRule } from '../rules.ts';
import {
  caFile,
  camelCased,
  nonEmptyList,
  nullable,
  partial,
  type ReportFault,
  refineAll,
  secret,
  timezone,
  timezoneRemedy,
  withRule,
} from './kinds.ts';

const TYPE_REMEDY = 'Set `type:` to the kind of receiver, such as slack';

const webAddress = withRule(nonEmptyString, channelAddressRule).describe(
  'Give the https:// address that takes the alerts; http:// is for this machine only',
);
const mailbox = withRule(nonEmptyString, mailboxRule);

const exceptions = z.strictObject({
  rules: setting(nonEmptyList(z.enum(RULES)), 'List the rules that this channel does not receive, or remove the line'),
  workspaces: setting(
    nonEmptyList(nonEmptyString),
    'List the workspaces whose alerts this channel does not receive, such as test-*, or remove the line',
  ),
  tenants: setting(
    nonEmptyList(nonEmptyString),
    'List the tenants whose alerts this channel does not receive, such as acme or trial-*, or remove the line',
  ),
});

const routeSettings = {
  severities: setting(nonEmptyList(z.enum(SEVERITIES)), 'List warning, critical, or remove the line for both', [
    ...SEVERITIES,
  ]),
  rules: setting(
    nonEmptyList(z.enum(RULES)),
    'List the rules that this channel receives, such as jump and budget, or remove the line for all',
    [...RULES],
  ),
  workspaces: setting(
    nonEmptyList(nonEmptyString),
    'List workspaces, such as ws-1 or eu-*, or remove the line for all',
  ),
  tenants: setting(nonEmptyList(nonEmptyString), 'List tenants, such as acme or trial-*, or remove the line for all'),
  not: setting(
    exceptions,
    'List the exceptions of this channel below `not:`: rules, workspaces or tenants, each a list',
  ),
  digest_hour: nullable(
    integerBetween(0, 23),
    'Give the hour of the daily summary, 0 to 23, or remove the line for none',
  ),
  follow_ups: setting(
    z.enum(['digest', 'at_once']),
    'Choose digest, for the daily summary, or at_once for a receiver that closes its incidents itself',
    'digest',
  ),
  remind_after_hours: setting(integerBetween(1, 720), 'Give hours from 1 to 720, or remove the line for no reminders'),
  remind_weekdays: setting(
    withRule(nonEmptyString, weekdaysRule),
    'Give the days of reminders, such as mon-fri or sat,sun, or remove the line for every day',
  ),
  remind_hours: setting(
    withRule(nonEmptyString, hoursRule),
    "Give the hours of reminders, such as '08:00-18:00', or remove the line for all hours",
  ),
};

export const routeSchema = z.object(routeSettings).transform(({ remind_after_hours: hours, rules, ...settings }) => {
  // The tenants themselves may read a channel that is limited to them, so it gets alerts about their margin only if
  // `rules` names `margin`.
  const isAll = rules.length === RULES.length && settings.tenants !== undefined;
  return camelCased({
    ...settings,
    rules: isAll ? rules.filter((rule) => rule !== 'margin') : rules,
    remind_after_ms: hours === undefined ? undefined : hours * 3_600_000,
  });
});

const called = { name: setting(nonEmptyString, 'Give a name that people will recognize, or remove the line') };

const routed = {
  ...called,
  timezone: setting(timezone, timezoneRemedy('the one at the top')),
  ...partial(routeSettings),
};

const sending = {
  allow_private: setting(flag, 'Write true if the address is inside your own network, or remove the line', false),
  ca_file: caFile,
  timeout_seconds: setting(integerBetween(1, 30), 'Give whole seconds from 1 to 30, such as 10', 10),
};
const outbound = { ...routed, ...sending };

const log = z.strictObject({ type: z.literal('log').describe(TYPE_REMEDY), ...routed });

const webhookChannel = z.strictObject({
  type: z.literal('webhook').describe(TYPE_REMEDY),
  ...outbound,
  url: webAddress,
  secret: setting(secret, 'Give the secret that the receiver checks signatures with, best as a variable'),
  secrets: setting(
    nonEmptyList(secret),
    'List the new secret and the old one, best as variables; each message is signed with both',
  ),
});

const slack = z.strictObject({ type: z.literal('slack').describe(TYPE_REMEDY), ...outbound, url: webAddress });

const teams = z.strictObject({ type: z.literal('teams').describe(TYPE_REMEDY), ...outbound, url: webAddress });

const pagerduty = z.strictObject({
  type: z.literal('pagerduty').describe(TYPE_REMEDY),
  ...outbound,
  url: setting(
    withRule(nonEmptyString, channelAddressRule),
    'Give the address that takes the events, such as https://events.eu.pagerduty.com/v2/enqueue, or remove the line',
    'https://events.pagerduty.com/v2/enqueue',
  ),
  routing_key: secret.describe('Give the integration key of the service (Events API v2), best as a variable'),
});

const email = z.strictObject({
  type: z.literal('email').describe(TYPE_REMEDY),
  ...outbound,
  host: withRule(nonEmptyString, hostRule).describe(
    'Give the name of the mail server, such as smtp.example.com, without its port',
  ),
  port: setting(integerBetween(1, 65_535), 'Give the port of the mail server, such as 587 or 465'),
  tls: setting(z.enum(['implicit', 'starttls']), 'Choose starttls (port 587) or implicit (port 465)'),
  allow_insecure: setting(flag, 'Write true only for a mail server in your own network, or remove the line', false),
  user: setting(nonEmptyString, 'Give the user name for the mail server, or remove user and password'),
  password: setting(secret, 'Give the password for the mail server, best as a variable, or remove user and password'),
  from: mailbox.describe('Give the sender as name@host or as Name <name@host>'),
  to: nonEmptyList(mailbox).describe('List the recipients below `to:`, each as `- name@host`'),
});

const heartbeat = z.strictObject({
  type: z.literal('heartbeat').describe(TYPE_REMEDY),
  ...called,
  ...sending,
  url: webAddress,
  every_minutes: setting(integerBetween(1, 1440), 'Give whole minutes from 1 to 1440, such as 5', 5),
});

const channel = z.discriminatedUnion('type', [
  refineAll(log, checkChannel),
  refineAll(webhookChannel, checkChannel),
  refineAll(slack, checkChannel),
  refineAll(teams, checkChannel),
  refineAll(pagerduty, checkChannel),
  refineAll(email, checkChannel),
  refineAll(heartbeat, checkChannel),
]);

/**
 * Checks settings that depend on each other, and that a public IP address is not required. Host names are checked when
 * the program connects.
 */
function checkChannel(channel: Record<PropertyKey, unknown>, report: ReportFault): void {
  const kind = nonPublicTarget(channel);
  if (kind !== null && channel.allow_private !== true) {
    const hint = 'Add `allow_private: true` to the channel if that place is yours; else correct its address';
    report(['allow_private'], `is not true, but the channel's address is not public (${kind})`, hint);
  }
  if (channel.secret !== undefined && channel.secrets !== undefined) {
    report(['secrets'], 'conflicts with secret: only one of the two may be set', 'Keep one of the two');
  }
  for (const key of ['remind_weekdays', 'remind_hours']) {
    if (channel[key] === undefined || channel.remind_after_hours !== undefined) continue;
    report([key], 'is set, but remind_after_hours is missing', 'Add `remind_after_hours:`, or remove the line');
  }
  const { user, password } = channel;
  if (user !== undefined && password === undefined) report(['password'], 'is missing, but user is set');
  if (password !== undefined && user === undefined) report(['user'], 'is missing, but password is set');
}

function nonPublicTarget({ type, url, host }: Record<PropertyKey, unknown>): string | null {
  const target = type === 'email' ? host : typeof url === 'string' && URL.canParse(url) ? new URL(url).hostname : null;
  if (typeof target !== 'string') return null;
  const name = target.trim().replace(/^\[(.*)\]$/, '$1');
  if (isLoopbackHost(name)) return 'loopback';
  return isIP(name) === 0 ? null : nonPublicKind(name);
}

export function channelName({ type, name }: { type?: unknown; name?: unknown }, index: number): string {
  return typeof name === 'string' ? name : `${String(type)}-${index + 1}`;
}

const IMPLICIT_TLS_PORT = 465;
const SUBMISSION_PORT = 587;

export const channelsSchema = z.array(channel).transform((list) => ({
  channels: list.flatMap((given, index) =>
    given.type === 'heartbeat' ? [] : [resolveChannel(given, channelName(given, index))],
  ),
  heartbeats: list.flatMap((given, index) =>
    given.type === 'heartbeat' ? [resolveHeartbeat(given, channelName(given, index))] : [],
  ),
}));

function resolveHeartbeat(given: z.output<typeof heartbeat>, name: string) {
  const { url, allow_private, timeout_seconds, every_minutes, ca_file: ca } = given;
  return camelCased({
    name,
    url,
    allow_private,
    timeout_ms: timeout_seconds * 1000,
    every_ms: every_minutes * 60_000,
    ca,
  });
}

type ChannelInFile = Exclude<z.output<typeof channel>, { type: 'heartbeat' }>;

function resolveChannel(given: ChannelInFile, name: string) {
  const followUps = given.follow_ups ?? (given.type === 'pagerduty' ? 'at_once' : undefined);
  const routed = camelCased({ name, timezone: given.timezone, route: routeOf({ ...given, follow_ups: followUps }) });
  if (given.type === 'log') return { type: given.type, ...routed };
  const { allow_private, timeout_seconds, ca_file: ca } = given;
  const sent = { ...routed, ...camelCased({ allow_private, timeout_ms: timeout_seconds * 1000, ca }) };
  if (given.type === 'slack') return { type: given.type, ...sent, url: given.url };
  if (given.type === 'teams') return { type: given.type, ...sent, url: given.url };
  if (given.type === 'pagerduty') {
    return { type: given.type, ...sent, url: given.url, routingKey: given.routing_key };
  }
  if (given.type === 'webhook') {
    const secrets = (given.secrets ?? [given.secret ?? '']).filter((secret) => secret !== '');
    return { type: given.type, ...sent, url: given.url, secrets };
  }
  const tls = given.tls ?? (given.port === IMPLICIT_TLS_PORT ? 'implicit' : 'starttls');
  return {
    type: given.type,
    ...sent,
    host: given.host,
    port: given.port ?? (tls === 'implicit' ? IMPLICIT_TLS_PORT : SUBMISSION_PORT),
    tls,
    allowInsecure: given.allow_insecure,
    login: given.user === undefined ? null : { user: given.user, password: given.password ?? '' },
    from: given.from,
    to: given.to,
  };
}

/** Returns the route, or undefined if the channel has no setting of a route: it then gets all alerts, at once. */
function routeOf(given: ChannelInFile): z.output<typeof routeSchema> | undefined {
  const isRouted = Object.keys(routeSettings).some((key) => given[key as keyof typeof routeSettings] !== undefined);
  return isRouted ? routeSchema.parse(given) : undefined;
}
