import { allowedAddresses } from '../../alerts/channels/outbound/guarded-connect.ts';
import { type DisabledChannel, disabledChannels } from '../../alerts/outbox/channel-states.ts';
import { type DeadLetter, deadLetters } from '../../alerts/outbox/replay.ts';
import type { ChannelConfig, Config } from '../../config/types.ts';
import { AppError, summarizeError } from '../../core/errors.ts';
import { openReader } from '../../ledger/file/open.ts';
import { type Finding, fail, ok, warn } from './finding.ts';

/**
 * Whether each channel that sends to another machine may do so, is not disabled and has lost nothing. Nothing is sent.
 */
export async function checkChannels({ alerts, ledger }: Config): Promise<Finding[]> {
  const { disabledOnes, dead } = readTroubles(ledger.path);
  const disabled = new Map(disabledOnes.map((channel) => [channel.name, channel]));
  const findings = await Promise.all(
    alerts.channels.map(async (channel): Promise<Finding> => {
      const state = disabled.get(channel.name);
      if (state === undefined) return checkAddress(channel);
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
  const count = letters.length === 1 ? '1 notification is dead' : `${letters.length} notifications are dead`;
  const message = `${count}, the last one because: ${letters.at(-1)?.last_error ?? 'it was refused'}`;
  return fail('channel', message, '`usage-ledger alerts replay` lists them, `--all-dead` sends them again', channel);
}

async function checkAddress(channel: ChannelConfig): Promise<Finding> {
  if (channel.type === 'log') return ok('channel', 'writes to the log', channel.name);
  const { name, allowPrivate } = channel;
  const host = channel.type === 'email' ? channel.host : new URL(channel.url).hostname;
  try {
    const addresses = await allowedAddresses(host, { allowPrivate });
    const where = addresses.map(({ address }) => address).join(', ');
    return ok('channel', `${channel.type} may connect to ${where}; \`usage-ledger alerts test\` sends a message`, name);
  } catch (error) {
    const { message, hint } = summarizeError(error);
    return fail(
      'channel',
      message,
      hint ?? 'check the name in its address, and that this machine resolves names',
      name,
    );
  }
}

/** None while there is no ledger that can be read: other checks tell of that. */
function readTroubles(path: string): { disabledOnes: DisabledChannel[]; dead: DeadLetter[] } {
  try {
    const reader = openReader(path);
    try {
      return { disabledOnes: disabledChannels(reader.connection), dead: deadLetters(reader.connection) };
    } finally {
      reader.close();
    }
  } catch (error) {
    if (error instanceof AppError) return { disabledOnes: [], dead: [] };
    throw error;
  }
}
