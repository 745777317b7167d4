import { RULES, SEVERITIES } from '../../core/text/alert-words.ts';
import type { FileChannel } from '../schema/file-schema.ts';
import type { ChannelConfig } from '../types.ts';

/** The ports of RFC 8314 for handing in e-mail. */
const IMPLICIT_TLS_PORT = 465;
const SUBMISSION_PORT = 587;

/** What a channel without a name is called: its type and its place in the list. */
export function channelName(type: string, index: number): string {
  return `${type}-${index + 1}`;
}

/** One channel with its defaults; `ca` is what its `ca_file` holds. */
export function resolveChannel(channel: FileChannel, index: number, ca: string | undefined): ChannelConfig {
  const name = channel.name ?? channelName(channel.type, index);
  const routed = { name, ...resolveRoute(channel) };
  if (channel.type === 'log') return { type: 'log', ...routed };
  const outbound = {
    ...routed,
    allowPrivate: channel.allow_private ?? false,
    timeoutMs: (channel.timeout_seconds ?? 10) * 1000,
    ...(ca === undefined ? {} : { ca }),
  };
  if (channel.type === 'slack') return { type: 'slack', ...outbound, url: channel.url };
  if (channel.type === 'webhook') {
    const secrets = (channel.secrets ?? [channel.secret ?? '']).filter((secret) => secret !== '');
    return { type: 'webhook', ...outbound, url: channel.url, secrets };
  }
  const tls = channel.tls ?? (channel.port === IMPLICIT_TLS_PORT ? 'implicit' : 'starttls');
  return {
    type: 'email',
    ...outbound,
    host: channel.host,
    port: channel.port ?? (tls === 'implicit' ? IMPLICIT_TLS_PORT : SUBMISSION_PORT),
    tls,
    allowInsecure: channel.allow_insecure ?? false,
    login: channel.user === undefined ? null : { user: channel.user, password: channel.password ?? '' },
    from: channel.from,
    to: channel.to,
  };
}

function resolveRoute(channel: FileChannel): Pick<ChannelConfig, 'route'> {
  const { severities, rules, digest_hour, follow_ups, remind_after_hours, workspaces, tenants } = channel;
  const own = [severities, rules, digest_hour, follow_ups, remind_after_hours];
  if ([...own, workspaces, tenants].every((setting) => setting === undefined)) return {};
  return {
    route: {
      severities: severities ?? SEVERITIES,
      rules: rules ?? RULES,
      digestHour: digest_hour ?? null,
      followUps: follow_ups ?? 'digest',
      ...(workspaces === undefined ? {} : { workspaces }),
      ...(tenants === undefined ? {} : { tenants }),
      ...(remind_after_hours === undefined ? {} : { remindAfterMs: remind_after_hours * 3_600_000 }),
    },
  };
}
