import { requireChannelUrl } from '../../alerts/channels/channel-url.ts';
import { postJson } from '../../alerts/channels/post-json.ts';
import type { HeartbeatConfig } from '../../config/channel-types.ts';
import { isoTime } from '../../core/clock.ts';
import type { PeriodicTask } from '../../core/periodic-task.ts';
import type { ProxySettings } from '../../net/proxy.ts';
import type { Context } from '../../wiring/context.ts';
import type { HealthProbe } from '../http/probe.ts';
import { readiness } from '../http/readiness.ts';
import { type JobDeps, startWithInterval } from '../jobs.ts';

/** Starts the heartbeats of the configuration. */
export function startHeartbeats({ config, clock, logger }: Context, probe: HealthProbe): { stop(): Promise<void> } {
  const isReady = (): boolean => readiness(probe).status === 'ready';
  const { proxy } = config;
  const heartbeats = config.heartbeats.map((heartbeat) => startHeartbeat({ heartbeat, proxy, isReady, clock, logger }));
  return { stop: async () => void (await Promise.all(heartbeats.map((task) => task.stop()))) };
}

interface HeartbeatOptions extends JobDeps {
  heartbeat: HeartbeatConfig;
  proxy: ProxySettings | null;
  isReady(): boolean;
}

/** Posts to an external monitor at intervals while the daemon is ready; the monitor alerts when the posts stop. */
export function startHeartbeat({ heartbeat, proxy, isReady, clock, logger }: HeartbeatOptions): PeriodicTask {
  const { name, allowPrivate, timeoutMs, everyMs, ca } = heartbeat;
  const url = requireChannelUrl(heartbeat);
  return startWithInterval('heartbeat', everyMs, { clock, logger }, async (signal) => {
    if (!isReady()) return;
    const body = JSON.stringify({ status: 'ok', at: isoTime(clock.now()) });
    const post = { url, headers: {}, body, policy: { allowPrivate }, timeoutMs, ca, proxy, clock, signal };
    const result = await postJson(post);
    if ('reason' in result) logger.warn({ channel: name, reason: result.reason }, 'heartbeat rejected');
  });
}
