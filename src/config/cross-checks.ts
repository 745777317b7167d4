import { isIP } from 'node:net';
import type { ConfigFault } from '../core/errors.ts';
import { isCurrency, parseMinor } from '../core/money.ts';
import { isLoopbackHost } from '../core/net/loopback.ts';
import { nonPublicKind } from '../core/net/public-address.ts';
import { groupOf, listOf } from '../core/text/path.ts';
import { remedyFor } from './reading/remedies.ts';
import { channelName } from './resolve/resolve-channel.ts';
import { DEFAULT_HTTP } from './resolve/resolve-config.ts';
import { isLocalPostgres, postgresRule } from './rules.ts';

/** Of a token that other machines can guess at. */
const SHORTEST_TOKEN = 24;

/**
 * What settings mean together. It reads the document as it was written, mistakes included, so that its findings stand
 * beside the schema's in one report.
 */
export function crossFaults(document: unknown): ConfigFault[] {
  const root = groupOf(document);
  const defaults = groupOf(root.defaults);
  return [
    ...httpFaults(groupOf(root.http)),
    ...redisFaults(root),
    ...publishFaults(groupOf(root.publish)),
    ...s3Faults(root),
    ...bothSecretFaults(defaults, 'defaults', 'secret_key'),
    ...listOf(root.budgets).flatMap((budget, index) => budgetFaults(groupOf(budget), `budgets[${index}]`)),
    ...listOf(root.workspaces).flatMap((workspace, index) =>
      workspaceFaults(groupOf(workspace), defaults, `workspaces[${index}]`),
    ),
    ...listOf(groupOf(root.alerts).channels).flatMap((channel, index) =>
      channelFaults(groupOf(channel), `alerts.channels[${index}]`),
    ),
    ...listOf(root.exports).flatMap((item, index) => exportFaults(groupOf(item), `exports[${index}]`)),
    ...unknownWorkspaceFaults(root),
    ...duplicateFaults(
      listOf(root.exports).map((item) => groupOf(item).name),
      (index) => `exports[${index}].name`,
      'Give each export a name of its own: its files are called after it',
    ),
    ...duplicateFaults(
      listOf(root.workspaces).map((workspace) => groupOf(workspace).id),
      (index) => `workspaces[${index}].id`,
      'Give each workspace once',
    ),
    ...duplicateFaults(
      listOf(groupOf(root.alerts).channels).map((channel, index) => {
        const { type, name } = groupOf(channel);
        return typeof name === 'string' ? name : channelName(String(type), index);
      }),
      (index) => `alerts.channels[${index}].name`,
      'Give each channel a name of its own',
    ),
  ];
}

/** A budget is one of credits, or of money, which a tenant's rate card makes of credits. */
function budgetFaults(
  { tenant, credits, amount, currency }: Record<PropertyKey, unknown>,
  path: string,
): ConfigFault[] {
  const fault = (message: string, hint: string): ConfigFault[] => [{ path, message, hint }];
  if ((credits === undefined) === (amount === undefined))
    return fault('needs either credits or an amount', 'Give `credits:`, or `amount:` with `currency:`');
  if (amount === undefined) return [];
  if (typeof currency !== 'string' || !isCurrency(currency))
    return fault('has an amount without a currency', 'Give the code of its currency, such as EUR');
  if (parseMinor(String(amount), currency) === null)
    return fault('has an amount with more decimals than its currency', "Give it as text, such as '500.00'");
  return tenant === undefined
    ? fault('has an amount without a tenant', "Give `tenant: '*'` for every tenant, or `credits:`")
    : [];
}

/** A password in the clear, and the queue with it, would lie open to the network. */
function redisFaults({ redis_url, redis_allow_plain }: Record<PropertyKey, unknown>): ConfigFault[] {
  if (typeof redis_url !== 'string' || !URL.canParse(redis_url.trim())) return [];
  const { protocol, hostname } = new URL(redis_url.trim());
  const allowed = redis_allow_plain === true || redis_allow_plain === 'true';
  if (protocol !== 'redis:' || isLoopbackHost(hostname) || allowed) return [];
  const hint = 'Use rediss://, or set `redis_allow_plain: true` if the network between is yours alone';
  return [{ path: 'redis_url', message: 'uses redis:// to another machine, which encrypts nothing', hint }];
}

/** Every figure of the ledger, and the password, would lie open to the network. */
function publishFaults({ url, tls }: Record<PropertyKey, unknown>): ConfigFault[] {
  if (tls !== 'off' || typeof url !== 'string' || postgresRule(url.trim()) !== null) return [];
  if (isLocalPostgres(url.trim())) return [];
  const hint = 'Remove the line, or write `tls: require` for a server whose certificate nobody has signed';
  return [{ path: 'publish.tls', message: 'is off, but the server is another machine', hint }];
}

function httpFaults(http: Record<PropertyKey, unknown>): ConfigFault[] {
  const host = typeof http.host === 'string' ? http.host.trim() : DEFAULT_HTTP.host;
  const off = http.port === 0 || http.port === '0';
  const loopback = isLoopbackHost(host);
  const protect = http.protect === true || http.protect === 'true';
  if (off || (loopback && !protect)) return [];
  const fault = (message: string): ConfigFault[] => [{ path: 'http.token', message, hint: remedyFor('http.token') }];
  const reached = loopback ? 'but http.protect asks for it' : 'but http.host can be reached from other machines';
  if (http.token === undefined || http.token === '') return fault(`is missing, ${reached}`);
  const short = String(http.token).length < SHORTEST_TOKEN;
  return short ? fault(`is shorter than ${SHORTEST_TOKEN} characters, ${reached}`) : [];
}

function workspaceFaults(
  workspace: Record<PropertyKey, unknown>,
  defaults: Record<PropertyKey, unknown>,
  path: string,
): ConfigFault[] {
  const given = (key: string) => workspace[key] !== undefined || defaults[key] !== undefined;
  const missing = ['base_url', 'embed_url', 'api_key_id'].filter((key) => !given(key));
  if (!given('secret_key') && !given('secret_key_file')) missing.push('secret_key');
  const faults = missing.map((key) => ({
    path: `${path}.${key}`,
    message: 'is missing',
    hint: remedyFor(`${path}.${key}`),
  }));
  return [...faults, ...bothSecretFaults(workspace, path, 'secret_key')];
}

function bothSecretFaults(group: Record<PropertyKey, unknown>, path: string, key: string): ConfigFault[] {
  if (group[key] === undefined || group[`${key}_file`] === undefined) return [];
  const message = `stands beside ${key}, and it is unclear which of the two counts`;
  return [{ path: `${path}.${key}_file`, message, hint: 'Keep one of the two' }];
}

/** A place in a store of objects needs the store, and the store a key. */
function s3Faults({ s3, backup, exports }: Record<PropertyKey, unknown>): ConfigFault[] {
  if (s3 === undefined) {
    const settings = [groupOf(backup), ...listOf(exports).map(groupOf)];
    const hint = 'Write `s3:` with `region:`, `access_key_id:` and `secret_access_key:`';
    return settings.some(({ to }) => to !== undefined)
      ? [{ path: 's3', message: 'is missing, but `to:` needs it', hint }]
      : [];
  }
  const group = groupOf(s3);
  return ['access_key_id', 'secret_access_key'].flatMap((key) => {
    if (group[key] !== undefined || group[`${key}_file`] !== undefined) return bothSecretFaults(group, 's3', key);
    return [{ path: `s3.${key}`, message: 'is missing', hint: remedyFor(`s3.${key}`) }];
  });
}

/** An export is made at times, or after each close. */
function exportFaults({ cron, after, period }: Record<PropertyKey, unknown>, path: string): ConfigFault[] {
  const faults: ConfigFault[] = [];
  const beside = (key: string) => ({
    path: `${path}.${key}`,
    message: 'stands beside after, which says when, and of which month',
    hint: 'Keep one of the two',
  });
  if (after !== undefined && cron !== undefined) faults.push(beside('cron'));
  if (after !== undefined && period !== undefined) faults.push(beside('period'));
  return faults;
}

/** What names a workspace names one of this file: a misspelt one would count for nothing, unnoticed. */
function unknownWorkspaceFaults(root: Record<PropertyKey, unknown>): ConfigFault[] {
  const ids = listOf(root.workspaces).map((workspace) => idOf(groupOf(workspace).id));
  return ['budgets', 'rates', 'exports'].flatMap((list) =>
    listOf(root[list]).flatMap((item, index) => {
      const { workspace } = groupOf(item);
      if (workspace === undefined || ids.includes(idOf(workspace))) return [];
      const hint = 'Give the id of one below `workspaces:`, or remove the line for all of them';
      return [{ path: `${list}[${index}].workspace`, message: 'is no workspace of this file', hint }];
    }),
  );
}

/** As the schema takes it: without spaces around it, and a number as text. */
function idOf(value: unknown): string {
  return String(value).trim();
}

/** Names of the internet are judged when they are connected to; what can be seen here is told here. */
function channelFaults(channel: Record<PropertyKey, unknown>, path: string): ConfigFault[] {
  const faults: ConfigFault[] = [];
  const fault = (key: string, message: string, hint = remedyFor(`${path}.${key}`)): void => {
    faults.push({ path: `${path}.${key}`, message, hint });
  };
  const kind = nonPublicTarget(channel);
  const allowed = channel.allow_private === true || channel.allow_private === 'true';
  if (kind !== null && !allowed) {
    const hint = 'Add `allow_private: true` to the channel if that place is yours; else correct its address';
    fault('allow_private', `is not true, but the channel's address is not public (${kind})`, hint);
  }
  if (channel.secret !== undefined && channel.secrets !== undefined) {
    fault('secrets', 'stands beside secret, and it is unclear which of the two counts', 'Keep one of the two');
  }
  if (channel.user !== undefined && channel.password === undefined) fault('password', 'is missing, but user is set');
  if (channel.password !== undefined && channel.user === undefined) fault('user', 'is missing, but password is set');
  return faults;
}

/** What kind of place a channel's address is, if it can be seen from here that it is not a public one. */
function nonPublicTarget({ type, url, host }: Record<PropertyKey, unknown>): string | null {
  const target = type === 'email' ? host : typeof url === 'string' && URL.canParse(url) ? new URL(url).hostname : null;
  if (typeof target !== 'string') return null;
  const name = target.trim().replace(/^\[(.*)\]$/, '$1');
  if (isLoopbackHost(name)) return 'loopback';
  return isIP(name) === 0 ? null : nonPublicKind(name);
}

function duplicateFaults(names: readonly unknown[], pathOf: (index: number) => string, hint: string): ConfigFault[] {
  const trimmed = names.map((name) => (typeof name === 'string' ? name.trim() : name));
  return trimmed.flatMap((name, index) => {
    const first = trimmed.indexOf(name);
    if (typeof name !== 'string' || first === index) return [];
    return [{ path: pathOf(index), message: `is the same as ${pathOf(first)}`, hint }];
  });
}
