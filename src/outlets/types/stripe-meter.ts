import { z } from 'zod';
import { isoTime } from '../../core/clock.ts';
import { mismatch } from '../answers.ts';
import type { UsageEvent } from '../receiver.ts';

export const meterAnswer = z.object({
  event_name: z.string(),
  status: z.string(),
  event_time_window: z.string().nullish(),
  customer_mapping: z.object({ event_payload_key: z.string() }),
  default_aggregation: z.object({ formula: z.string() }),
  value_settings: z.object({ event_payload_key: z.string() }),
});
export type StripeMeter = z.output<typeof meterAnswer>;

/** Raises `outlet_mismatch` for a meter that would not count every event: Stripe itself would take them without a word. */
export function checkMeter(meter: StripeMeter): StripeMeter {
  const hint = 'make a meter that is active, sums, and takes raw events';
  if (meter.status !== 'active') throw mismatch(`its meter is ${meter.status}`, hint);
  const { formula } = meter.default_aggregation;
  if (formula !== 'sum') throw mismatch(`its meter has the formula ${formula}`, hint);
  const window = meter.event_time_window;
  if (window) throw mismatch(`its meter keeps only the last event of each ${window}`, hint);
  return meter;
}

export function streamEvent(event: UsageEvent, meter: StripeMeter) {
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
