import { tryMailServer } from '../../alerts/channels/email-channel.ts';
import { tryConnection, UnreachableError } from '../../alerts/channels/outbound/try-connection.ts';
import { disabledChannels } from '../../alerts/notify/channel-states.ts';
import { type DeadLetter, deadLetters } from '../../alerts/notify/replay.ts';
import { channelsOf, routesOf, unheardRules } from '../../alerts/track/routes.ts';
import type { ChannelConfig, Config } from '../../config/types.ts';
import { summarizeError } from '../../core/errors.ts';
import { counted } from '../../core/text/words.ts';
import { askLedger } from './check-ledger.ts';
import { type Finding, fail, ok, warn } from './finding.ts';

/**
 * Whether the receiver of each channel answers, the channel is not disabled and has lost nothing. No message is sent: to a
 * webhook no byte after the connection, to a mail server only the login.
 */
export async function checkChannels({ alerts, ledger, proxy }: Config): Promise<Finding[]> {
  const dead = askLedger(ledger.path, deadLetters, []);
  const disabledOnes = askLedger(ledger.path, disabledChannels, []);
  const disabled = new Map(disabledOnes.map((channel) => [channel.name, channel]));
  const findings = await Promise.all(
    alerts.channels.map(async (channel): Promise<Finding> => {
      const state = disabled.get(channel.name);
      if (state === undefined) return checkReceiver(channel, proxy);
      const message = `disabled since ${state.disabledAt}: ${state.reason}`;
      return warn('channel', message, 'correct its address, then run `usage-ledger alerts replay`', channel.name);
    }),
  );
  const lost = [...Map.groupBy(dead, ({ channel }) => channel)].map(([channel, letters]) =>
    deadFinding(channel, letters),
  );
  return [...findings, ...lost];
}

function deadFinding(channel: string, letters: readonly DeadLetter[]): Finding {
  const count = counted(letters.length, 'notification is dead', 'notifications are dead');
  const message = `${count}, the last one because: ${letters.at(-1)?.last_error ?? 'it was refused'}`;
  return fail('channel', message, '`usage-ledger alerts replay` lists them, `--all-dead` sends them again', channel);
}

async function checkReceiver(channel: ChannelConfig, proxy: Config['proxy']): Promise<Finding> {
  const { name } = channel;
  if (channel.type === 'log') return ok('channel', 'writes to the log', name);
  // The path of an address is often a secret.
  const place = channel.type === 'email' ? `${channel.host}:${channel.port}` : new URL(channel.url).host;
  try {
    if (channel.type === 'email') await tryMailServer(channel);
    else {
      const { allowPrivate, timeoutMs, ca } = channel;
      await tryConnection(new URL(channel.url), { policy: { allowPrivate }, timeoutMs, ca, proxy });
    }
    return ok('channel', `${place} answers; \`usage-ledger alerts test ${name}\` sends a message`, name);
  } catch (error) {
    const { message, hint = 'correct what the message names' } = summarizeError(error);
    return fail('channel', error instanceof UnreachableError ? `${place}: ${message}` : message, hint, name);
  }
}

/** What no channel is told of. */
export function checkRoutes(config: Config): Finding[] {
  const routes = routesOf(channelsOf(config), config.http.publicUrl);
  const { workspaces } = config;
  const found = Map.groupBy(
    workspaces.flatMap(({ id }) => unheardRules(routes, id).map((unheard) => ({ id, ...unheard }))),
    ({ severity, rules }) => `${severity} ${rules.join(', ')}`,
  );
  return [...found].map(([what, where]) => {
    const all = where.length === workspaces.length;
    return warn(
      'routes',
      `no channel is told of ${what}${all ? '' : ` of ${where.map(({ id }) => id).join(', ')}`}`,
      'add them to the `severities`, `rules` and `workspaces` of a channel, unless nobody has to know',
    );
  });
}
