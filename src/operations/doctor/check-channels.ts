import { tryMailServer } from '../../alerts/channels/email-channel.ts';
import { findDisabledChannels } from '../../alerts/outbox/channel-states.ts';
import { type FailingChannel, findFailingChannels } from '../../alerts/outbox/failing-channels.ts';
import { type DeadLetter, findDeadLetters } from '../../alerts/outbox/replay.ts';
import type { ChannelConfig, HeartbeatConfig } from '../../config/channel-types.ts';
import type { Config } from '../../config/types.ts';
import { type Clock, systemClock } from '../../core/clock.ts';
import { summarizeError } from '../../core/errors.ts';
import { counted } from '../../core/text/words.ts';
import { tryConnection } from '../../net/http-client.ts';
import { UnreachableError } from '../../net/outbound-errors.ts';
import { queryLedger } from './check-ledger.ts';
import { type DoctorFinding, fail, failedWith, ok, warn } from './finding.ts';

/** The remedy when a receiver cannot be reached and the error has no remedy of its own. */
const CHECK_WAY = 'check the address, the network and proxy on the way, and that the receiver runs';

/**
 * Checks that each channel's receiver answers, that the channel is enabled, that its last message was accepted and that
 * no message was given up. The checks send no message: they only connect to a webhook, and only log in to a mail
 * server.
 */
export async function checkChannels(config: Config, clock: Clock = systemClock): Promise<DoctorFinding[]> {
  const { alerts, heartbeats, ledger, proxy } = config;
  const dead = queryLedger(ledger.path, findDeadLetters, []);
  const disabledOnes = queryLedger(ledger.path, findDisabledChannels, []);
  const disabled = new Map(disabledOnes.map((channel) => [channel.name, channel]));
  const names = alerts.channels.map(({ name }) => name);
  const failing = queryLedger(ledger.path, (connection) => findFailingChannels(connection, names), []);
  const findings = await Promise.all(
    alerts.channels.map(async (channel): Promise<DoctorFinding> => {
      const state = disabled.get(channel.name);
      if (state === undefined) return checkReceiver(channel, { proxy, clock });
      const message = `disabled since ${state.disabledAt}: ${state.reason}`;
      return warn('channel', message, 'correct its address, then run `usage-ledger alerts replay`', channel.name);
    }),
  );
  const lost = [...Map.groupBy(dead, ({ channel }) => channel)].map(([channel, letters]) =>
    deadFinding(channel, letters),
  );
  const beats = await Promise.all(heartbeats.map((heartbeat) => checkHeartbeat(heartbeat, { proxy, clock })));
  return [...findings, ...failing.filter(({ name }) => !disabled.has(name)).map(failingFinding), ...beats, ...lost];
}

interface Way {
  proxy: Config['proxy'];
  clock: Clock;
}

function failingFinding({ name, reason }: FailingChannel): DoctorFinding {
  const remedy = 'fix what the message names; `usage-ledger alerts replay --all-dead` retries at once';
  return warn('channel', `the last message failed: ${reason}`, remedy, name);
}

async function checkHeartbeat({ name, ...heartbeat }: HeartbeatConfig, { proxy, clock }: Way): Promise<DoctorFinding> {
  const { url, allowPrivate, timeoutMs, ca } = heartbeat;
  try {
    await tryConnection(new URL(url), { policy: { allowPrivate }, timeoutMs, ca, proxy, clock });
    return ok('heartbeat', `${new URL(url).host} answers`, name);
  } catch (error) {
    return failedWith('heartbeat', error, CHECK_WAY, name);
  }
}

function deadFinding(channel: string, letters: readonly DeadLetter[]): DoctorFinding {
  const count = counted(letters.length, 'message given up', 'messages given up');
  const message = `${count}; last error: ${letters.at(-1)?.last_error ?? 'refused'}`;
  const remedy = 'list them with `usage-ledger alerts replay`, and send them again with `--all-dead`';
  return fail('channel', message, remedy, channel);
}

async function checkReceiver(channel: ChannelConfig, { proxy, clock }: Way): Promise<DoctorFinding> {
  const { name } = channel;
  if (channel.type === 'log') return ok('channel', 'writes to the log', name);
  // The path of a webhook address is often secret, so only the host is shown.
  const place = channel.type === 'email' ? `${channel.host}:${channel.port}` : new URL(channel.url).host;
  try {
    if (channel.type === 'email') await tryMailServer(channel, { clock });
    else {
      const { allowPrivate, timeoutMs, ca } = channel;
      await tryConnection(new URL(channel.url), { policy: { allowPrivate }, timeoutMs, ca, proxy, clock });
    }
    return ok('channel', `${place} answers; \`usage-ledger alerts test ${name}\` sends a message`, name);
  } catch (error) {
    const { message, hint = CHECK_WAY } = summarizeError(error);
    return fail('channel', error instanceof UnreachableError ? `${place}: ${message}` : message, hint, name);
  }
}
