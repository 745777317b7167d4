import { z } from 'zod';
import { isoTime } from '../../core/clock.ts';
import { meterMismatchError } from '../answers.ts';
import type { LateRefusals, UsageEvent } from '../receiver.ts';

export const stripeMeterSchema = z.object({
  event_name: z.string(),
  status: z.string(),
  event_time_window: z.string().nullish(),
  customer_mapping: z.object({ event_payload_key: z.string() }),
  default_aggregation: z.object({ formula: z.string() }),
  value_settings: z.object({ event_payload_key: z.string() }),
});
export type StripeMeter = z.output<typeof stripeMeterSchema>;

/**
 * Returns the meter. Throws `outlet_mismatch` if the meter would not count every event, because Stripe reports no error
 * in that case.
 */
export function requireSummingMeter(meter: StripeMeter): StripeMeter {
  const hint = 'create an active meter that sums raw events';
  if (meter.status !== 'active') throw meterMismatchError(`the meter is ${meter.status}`, hint);
  const { formula } = meter.default_aggregation;
  if (formula !== 'sum') throw meterMismatchError(`the meter has the formula ${formula}`, hint);
  const window = meter.event_time_window;
  if (window) throw meterMismatchError(`the meter keeps only the last event of each ${window}`, hint);
  return meter;
}

export function toStripeMeterEvent(event: UsageEvent, meter: StripeMeter) {
  return {
    event_name: meter.event_name,
    identifier: event.id,
    timestamp: isoTime(event.timeMs),
    payload: {
      [meter.customer_mapping.event_payload_key]: event.customer,
      [meter.value_settings.event_payload_key]: String(event.quantity),
    },
  };
}

const METER_EVENT_TYPES = ['v1.billing.meter.error_report_triggered', 'v1.billing.meter.no_meter_found'];
const listAnswer = z.object({
  data: z.array(
    z.object({ id: z.string(), created: z.string(), related_object: z.object({ id: z.string() }).nullish() }),
  ),
  next_page_url: z.string().nullish(),
});
const sample = z.object({ error_message: z.string(), request: z.object({ identifier: z.string() }) });
const reportAnswer = z.object({
  data: z.object({
    reason: z.object({
      error_count: z.number(),
      error_types: z.array(z.object({ code: z.string(), sample_errors: z.array(sample) })),
    }),
  }),
});

type Ask = <T>(path: string, schema: z.ZodType<T>) => Promise<T>;

/**
 * Reads Stripe's reports since `sinceMs` about a meter's events that Stripe refused after it had accepted them
 * (docs.stripe.com/api/v2/core/events/event-types). Stripe keeps reports for 30 days. It lists the newest first, and
 * each report must be fetched with a request of its own.
 */
export async function readStripeReports(
  ask: Ask,
  { meter, sinceMs }: { meter: string; sinceMs: number },
): Promise<LateRefusals> {
  const refused = new Map<string, string>();
  let unnamed = 0;
  let untilMs: number | null = null;
  const types = METER_EVENT_TYPES.map((type, at): [string, string] => [`types[${at}]`, type]);
  let path: string | null = `/v2/core/events?${new URLSearchParams([...types, ['limit', '100']])}`;
  while (path !== null) {
    const { data, next_page_url }: z.output<typeof listAnswer> = await ask(path, listAnswer);
    const recent = data.filter(({ created }) => Date.parse(created) > sinceMs);
    for (const { id, created, related_object } of recent) {
      untilMs ??= Date.parse(created);
      if (related_object && related_object.id !== meter) continue;
      const { error_count, error_types } = (await ask(`/v2/core/events/${id}`, reportAnswer)).data.reason;
      const named = error_types.flatMap(({ code, sample_errors }) => sample_errors.map((error) => ({ code, error })));
      for (const { code, error } of named) refused.set(error.request.identifier, `${code}: ${error.error_message}`);
      unnamed += Math.max(0, error_count - named.length);
    }
    path = recent.length === data.length ? (next_page_url ?? null) : null;
  }
  return { refused, unnamed, untilMs };
}
