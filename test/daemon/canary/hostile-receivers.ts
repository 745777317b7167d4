import type { ServerResponse } from 'node:http';
import { onTestFinished } from 'vitest';
import type { ChannelConfig } from '../../../src/config/channel-types.ts';
import { startMailServer, type TakenMail } from '../../alerts/channels/mail-server.ts';
import { type Received, startReceiver } from '../../alerts/channels/receiver.ts';

/** What the configuration holds beside the workspaces' keys. */
export const SHARED_SECRETS = {
  webhook: 'Canary-hook-7Qx2Lm',
  webhookOld: 'Canary-hook-old-4Tr',
  webhookQuery: 'Canary-query-9Zp',
  slackPath: 'Canary-slack-T0B1X',
  smtp: 'Canary-smtp-pw-55f',
  http: 'Canary-http-token-0123456789',
  redis: 'Canary-redis-pw-3h',
} as const;

export interface Receivers {
  channels: ChannelConfig[];
  /** What they were sent, their signatures and passwords left out: those are theirs. */
  taken(): string;
  requests: Received[];
  mails: TakenMail[];
}

/** One receiver of each kind that takes everything, and one that fails by repeating what it knows. */
export async function startHostileReceivers(): Promise<Receivers> {
  const echo = Object.values(SHARED_SECRETS).join(' and ');
  const repeat = (status: number) => (response: ServerResponse) => {
    response.statusMessage = echo;
    response.writeHead(status, { location: `https://x.example/${encodeURIComponent(echo)}`, 'retry-after': echo });
    response.end(JSON.stringify({ message: echo, error: echo }));
  };
  const statuses = [204, 400, 410, 500, 302];
  const receivers = await Promise.all(statuses.map((status) => startReceiver(repeat(status))));
  for (const receiver of receivers) onTestFinished(() => receiver.close());
  const mail = await startMailServer({
    onAuth: ({ username }, _session, callback) => callback(null, { user: username }),
    onRcptTo: ({ address }, _session, callback) =>
      callback(address.startsWith('bad') ? Object.assign(new Error(echo), { responseCode: 554 }) : null),
  });
  const common = { allowPrivate: true, timeoutMs: 5_000 };
  const email = (name: string, to: string): ChannelConfig => ({
    ...{ type: 'email', name, ...common, host: '127.0.0.1', port: mail.port, tls: 'starttls', allowInsecure: true },
    ...{ login: { user: 'ledger', password: SHARED_SECRETS.smtp }, from: 'ledger@example.com', to: [to] },
  });
  const channels: ChannelConfig[] = [
    { type: 'log', name: 'log' },
    ...receivers.map(
      ({ url }, index): ChannelConfig => ({
        ...{ type: 'webhook', name: `hook-${statuses[index]}`, ...common },
        url: `${url}?key=${SHARED_SECRETS.webhookQuery}`,
        secrets: [SHARED_SECRETS.webhook, SHARED_SECRETS.webhookOld],
      }),
    ),
    ...receivers.map(
      ({ url }, index): ChannelConfig => ({
        ...{ type: 'slack', name: `slack-${statuses[index]}`, ...common },
        url: `${url}/services/${SHARED_SECRETS.slackPath}`,
      }),
    ),
    email('mail', 'oncall@example.com'),
    email('mail-refused', 'bad@example.com'),
  ];
  const { taken: mails } = mail;
  return {
    channels,
    mails,
    get requests() {
      return receivers.flatMap(({ received }) => received);
    },
    taken() {
      const bodies = receivers.flatMap(({ received }) => received.map(({ body }) => body.toString('utf8')));
      return [...bodies, ...mails.map(({ raw }) => raw)].join('\n');
    },
  };
}
