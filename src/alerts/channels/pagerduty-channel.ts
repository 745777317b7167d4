import type { PagerdutyConfig } from '../../config/channel-types.ts';
import { stringifyExact } from '../../core/text/exact-json.ts';
import type { Channel, ChannelMessage, DeliveryResult } from './channel.ts';
import { requireChannelUrl } from './channel-url.ts';
import { postJson } from './post-json.ts';
import { clip, readMessage } from './read-message.ts';
import { alertsOfGroup, alertsOfSummary, type Payload, readPayload } from './read-payload.ts';
import type { HttpChannelDeps } from './webhook-channel.ts';

const SUMMARY_CHARACTERS = 1024;
const DETAIL_CHARACTERS = 1000;
/**
 * Progress is remembered for this many partly accepted messages, so that the next attempt continues where the last one
 * stopped.
 */
const MAX_REMEMBERED_MESSAGES = 100;

/**
 * Creates a channel that sends each alert as an event of PagerDuty's Events API v2, with the alert's id as `dedup_key`.
 * An alert that begins or escalates triggers an incident, which its acknowledgement acknowledges and its end resolves.
 * A group or digest becomes one event for each alert, in order; PagerDuty ignores repeated events. An alert that begins
 * with settled figures is not sent. Throws `channel_url_refused`.
 */
export function createPagerdutyChannel(config: Omit<PagerdutyConfig, 'type'>, deps: HttpChannelDeps): Channel {
  const url = requireChannelUrl(config);
  const { timeoutMs, allowPrivate, ca, routingKey } = config;
  const { clock, proxy } = deps;
  const policy = { allowPrivate, resolve: deps.resolve };
  const taken = new Map<string, number>();
  return {
    name: config.name,
    type: 'pagerduty',
    async deliver(message, { signal }) {
      const { notificationId } = message;
      const events = pagerdutyEventsOf(message);
      if (events === null) return { outcome: 'rejected', reason: 'the payload is not a JSON object' };
      const endsMs = clock.monotonic() + timeoutMs;
      let result: DeliveryResult = { outcome: 'delivered', detail: 'no event to send' };
      for (const event of events.slice(taken.get(notificationId) ?? 0)) {
        const leftMs = endsMs - clock.monotonic();
        if (leftMs <= 0)
          return { outcome: 'retry', reason: 'not all events were sent in time', retryAfterMs: null, unknown: true };
        const body = JSON.stringify({ routing_key: routingKey, ...event });
        result = await postJson({ url, headers: {}, body, policy, timeoutMs: leftMs, ca, proxy, clock, signal });
        if (result.outcome !== 'delivered') return afterSome(result, taken.get(notificationId));
        taken.set(notificationId, (taken.get(notificationId) ?? 0) + 1);
        if (taken.size > MAX_REMEMBERED_MESSAGES) taken.delete(taken.keys().next().value ?? '');
      }
      taken.delete(notificationId);
      return result;
    },
  };
}

/** After a partial delivery the result is uncertain, because the receiver may have the first events. */
function afterSome(result: DeliveryResult, taken: number | undefined): DeliveryResult {
  return result.outcome === 'retry' && taken !== undefined ? { ...result, unknown: true } : result;
}

/** Returns the events of a message in order, without the routing key; null if the payload cannot be read. */
function pagerdutyEventsOf({ payload, notificationId }: ChannelMessage): object[] | null {
  const notification = readPayload(payload);
  if (notification === null) return null;
  if (notification.type === 'test') {
    const event = triggerOf(notification, notificationId, 'info');
    // A test opens an incident and resolves it at once.
    return [event, { event_action: 'resolve', dedup_key: notificationId }];
  }
  const alerts = alertsOfGroup(notification) ?? alertsOfSummary(notification) ?? [notification];
  return alerts
    .filter((alert) => !beganSettled(alert))
    .map((alert) => pagerdutyEventOf(alert, String(alert.alert_id ?? notificationId)));
}

/** Reports whether an alert began with the settled figures of a month: no event would ever resolve its incident. */
function beganSettled({ level, state }: Payload): boolean {
  return level === 'settled' && state === 'firing';
}

function pagerdutyEventOf(alert: Payload, dedupKey: string): object {
  if (alert.state === 'resolved') return { event_action: 'resolve', dedup_key: dedupKey };
  if (alert.state === 'acknowledged') return { event_action: 'acknowledge', dedup_key: dedupKey };
  return triggerOf(alert, dedupKey, alert.severity === 'critical' ? 'critical' : 'warning');
}

/**
 * Builds an event that triggers. The title is its summary, which PagerDuty reads aloud; lines and facts are details.
 */
function triggerOf(alert: Payload, dedupKey: string, severity: 'critical' | 'warning' | 'info'): object {
  const message = readMessage(stringifyExact(alert));
  const { title = 'An alert without a title', lines = [], facts = [], links, command } = message ?? {};
  const details = [
    ...(lines.length === 0 ? [] : [['Message', lines.join('\n')]]),
    ...facts.map(({ label, value }) => [label, value]),
    ...(command == null ? [] : [['Next', command]]),
  ].map(([label = '', value = '']) => [label, clip(value, DETAIL_CHARACTERS)]);
  const created = typeof alert.created_at === 'string' ? { timestamp: alert.created_at } : {};
  return {
    event_action: 'trigger',
    dedup_key: dedupKey,
    client: 'usage-ledger',
    payload: {
      summary: clip(title, SUMMARY_CHARACTERS),
      source: String(alert.workspace_id ?? 'usage-ledger'),
      severity,
      ...created,
      class: String(alert.rule ?? 'test'),
      group: String(alert.workspace_id ?? 'usage-ledger'),
      custom_details: Object.fromEntries(details),
    },
    links: Object.entries({ Acknowledge: links?.acknowledge, 'Open alert': links?.open }).flatMap(([text, href]) =>
      href == null ? [] : [{ href, text }],
    ),
  };
}
