import { describe, expect, it } from 'vitest';
import { createLogChannel } from '../../../src/alerts/channels/log-channel.ts';
import { buildNotification, renderPayload } from '../../../src/alerts/messages/notification.ts';
import { createLogger } from '../../../src/core/logger.ts';
import { HOSTILE_NAMES } from './hostile.ts';
import { jumpFacts } from './sample.ts';

const signal = new AbortController().signal;

/** Delivers one payload and returns what was logged. */
async function logged(payload: string, level = 'info') {
  const lines: string[] = [];
  const logger = createLogger({ level, destination: { write: (line: string) => void lines.push(line) } });
  const result = await createLogChannel('log-1', logger).deliver(
    { notificationId: 'msg_0001', payload, attempt: 2 },
    { signal },
  );
  return { result, lines };
}

const payloadOf = (changes: Parameters<typeof jumpFacts>[0]) => renderPayload(buildNotification(jumpFacts(changes)));

describe('the log channel', () => {
  it('writes one short line, and the whole notification at debug alone', async () => {
    const { result, lines } = await logged(payloadOf({}));
    expect(result).toEqual({ outcome: 'delivered', detail: 'logged' });
    expect(lines).toHaveLength(1);
    const { level, time, ...line } = JSON.parse(lines[0] ?? '');
    expect([level, typeof time]).toEqual(['error', 'string']);
    expect(line).toEqual({
      channel: 'log-1',
      alert_id: 'alert_1',
      rule: 'jump',
      msg: buildNotification(jumpFacts()).summary,
    });
    const debug = await logged(payloadOf({}), 'debug');
    expect(debug.lines[0]?.replace(/"time":"[^"]*"/, '')).toBe(lines[0]?.replace(/"time":"[^"]*"/, ''));
    expect(JSON.parse(debug.lines[1] ?? '')).toMatchObject({
      ...{ level: 'debug', attempt: 2, notification: JSON.parse(payloadOf({})) },
    });
  });

  it('logs critical as error, warnings and what is resolved as warn', async () => {
    const level = async (changes: Parameters<typeof jumpFacts>[0]) =>
      JSON.parse((await logged(payloadOf(changes))).lines[0] ?? '').level;
    expect(await level({})).toBe('error');
    expect(await level({ severity: 'warning' })).toBe('warn');
    expect(await level({ type: 'alert.resolved', state: 'resolved' })).toBe('warn');
  });

  it('keeps figures beyond 2^53 exact', async () => {
    const { lines } = await logged(payloadOf({ threshold: 9_223_372_036_854_775_807n }), 'debug');
    expect(lines[1]).toContain('"threshold":9223372036854775807');
  });

  it('makes hostile names inert', async () => {
    const { lines } = await logged(payloadOf({ tenant_id: '\u009b31m\u202e\u2028\u007f' }), 'debug');
    expect(lines[1]?.trimEnd()).toMatch(/^[\x20-\x7e]+$/);
    expect(JSON.parse(lines[1] ?? '').notification.tenant_id).toBe('\\u009b31m\\u202e\\u2028\\u007f');
  });

  it.each(HOSTILE_NAMES)('shows the tenant %j without letting it act', async (tenantId) => {
    const { lines } = await logged(payloadOf({ tenant_id: tenantId, workspace_id: tenantId }));
    expect(lines).toHaveLength(1);
    expect(lines[0]?.trimEnd()).toMatch(/^[\x20-\x7e]+$/);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      channel: 'log-1',
      msg: expect.stringMatching(/: 180,000 credits in February, limit 150,000\./),
    });
  });

  it.each(['{', '[1]', 'null', '"text"'])('rejects %s, which is no notification', async (payload) => {
    const { result, lines } = await logged(payload);
    expect(result).toMatchObject({ outcome: 'rejected' });
    expect(lines).toEqual([]);
  });
});
