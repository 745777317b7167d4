import { expect, it } from 'vitest';
import { createChannels } from '../../../src/alerts/channels/create-channels.ts';
import { createLogger } from '../../../src/core/logger.ts';
import { clockThat } from '../../support/time/test-clock.ts';
import { startReceiver } from './receiver.ts';

it('builds each configured channel under its name, in order, and each delivers', async () => {
  const lines: string[] = [];
  const receiver = await startReceiver((response) => response.end());
  try {
    const channels = createChannels(
      [
        { type: 'webhook', name: 'pager', url: receiver.url, secrets: [], allowPrivate: true, timeoutMs: 5000 },
        { type: 'log', name: 'journal' },
      ],
      {
        clock: clockThat(() => 0),
        logger: createLogger({ destination: { write: (line: string) => void lines.push(line) } }),
      },
    );
    expect([...channels].map(([name, channel]) => [name, channel.name, channel.type])).toEqual([
      ['pager', 'pager', 'webhook'],
      ['journal', 'journal', 'log'],
    ]);
    const message = { notificationId: 'msg_1', payload: '{"summary":"a jump"}', attempt: 1 };
    for (const channel of channels.values()) {
      expect((await channel.deliver(message, { signal: new AbortController().signal })).outcome).toBe('delivered');
    }
    expect(receiver.received).toHaveLength(1);
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ channel: 'journal', msg: 'a jump' });
  } finally {
    await receiver.close();
  }
});
