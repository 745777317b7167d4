import { channelUrl } from '../../alerts/channels/outbound/channel-url.ts';
import { postJson } from '../../alerts/channels/outbound/post-json.ts';
import type { HeartbeatConfig } from '../../config/types.ts';
import { isoTime } from '../../core/clock.ts';
import type { ProxySettings } from '../../core/net/proxy-options.ts';
import { type PeriodicTask, type PeriodicTaskOptions, startPeriodicTask } from '../../core/periodic-task.ts';

export interface HeartbeatOptions extends Pick<PeriodicTaskOptions, 'clock' | 'logger'> {
  heartbeat: HeartbeatConfig;
  proxy: ProxySettings | null;
  isWell(): boolean;
}

/** Tells a place elsewhere that all is well, again and again: who hears nothing there knows that something is not. */
export function startHeartbeat({ heartbeat, proxy, isWell, clock, logger }: HeartbeatOptions): PeriodicTask {
  const { name, allowPrivate, timeoutMs, everyMs, ca } = heartbeat;
  const url = channelUrl(heartbeat);
  return startPeriodicTask({
    clock,
    logger,
    intervalMs: everyMs,
    atOnce: true,
    failed: 'heartbeat not sent',
    async work(signal) {
      if (!isWell()) return;
      const body = JSON.stringify({ status: 'ok', at: isoTime(clock.now()) });
      const post = { url, headers: {}, body, policy: { allowPrivate }, timeoutMs, ca, proxy, clock, signal };
      const result = await postJson(post);
      if ('reason' in result) logger.warn({ channel: name, reason: result.reason }, 'heartbeat not taken');
    },
  });
}
