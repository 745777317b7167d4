import { z } from 'zod';
import { isoTime } from '../../core/clock.ts';
import { DAY_MS } from '../../core/durations.ts';
import { periodEndMs, periodStartMs } from '../../core/period.ts';
import { fetchJson, meterMismatchError, parseJson } from '../answers.ts';
import type { Receiver, SendOutcome, UsageEvent } from '../receiver.ts';
import type { ReceiverDeps } from '../receiver-http.ts';

export interface LagoOutlet {
  token: string;
  /** The code of the billable metric. */
  meter: string;
  send: 'credits' | 'requests';
}

const lagoRefusal = z.object({ error_details: z.record(z.string(), z.unknown()) });
const lagoPage = z.object({
  events: z.array(
    z.object({
      transaction_id: z.string(),
      timestamp: z.string(),
      properties: z.record(z.string(), z.unknown()).nullish(),
    }),
  ),
  meta: z.object({ next_page: z.number().nullish() }),
});
type LagoPage = z.output<typeof lagoPage>;
const lagoMetric = z.object({
  billable_metric: z.object({ aggregation_type: z.string(), field_name: z.string().nullish() }),
});

/**
 * Creates a receiver that sends event batches to Lago (getlago.com/docs/api-reference/events/batch): at most 100 events
 * of any age. A customer is the external id of a subscription. Lago accepts a batch only as a whole. A refusal lists
 * the faulty events by index; those that Lago already has (`value_already_exist`) count as accepted.
 *
 * Lago deduplicates ids without a time limit. With ClickHouse it compares id and time, so every attempt sends the same
 * time. Negative events are summed; a month below zero is invoiced as zero. Events with an unknown subscription or code
 * are accepted and only reported by the webhook `events.errors`. `usage` reads the list of events, which covers any
 * month and does not depend on billing periods.
 */
export function createLagoReceiver(outlet: LagoOutlet, { http }: ReceiverDeps): Receiver {
  const headers = { authorization: `Bearer ${outlet.token}`, 'content-type': 'application/json' };

  const post = async (events: readonly UsageEvent[], signal: AbortSignal): Promise<SendOutcome[]> => {
    if (events.length === 0) return [];
    const body = JSON.stringify({ events: events.map((event) => lagoEvent(event, outlet.meter)) });
    const answer = await http.call({ method: 'POST', path: '/events/batch', headers, body }, signal);
    const outcome = http.outcomeOf(answer);
    const read = lagoRefusal.safeParse(
      outcome.is === 'refused' && answer.status !== null ? parseJson(answer.body) : null,
    );
    if (!read.success) return events.map(() => outcome);
    const faults = read.data.error_details;
    const others = events.filter((_, at) => faults[at] === undefined);
    if (others.length === events.length) return events.map(() => outcome);
    const rest = await post(others, signal);
    return events.map((_, at) => {
      const fault = faults[at];
      if (fault !== undefined) return outcomeOfFault(fault, (text) => http.displayText(text));
      return rest.shift() ?? outcome;
    });
  };

  const listed = async (customer: string, period: string, signal: AbortSignal): Promise<string> => {
    const asked = {
      external_subscription_id: customer,
      code: outlet.meter,
      timestamp_from: isoTime(periodStartMs(period)),
      // Lago includes both ends of the range.
      timestamp_to: isoTime(periodEndMs(period) - 1),
      per_page: '100',
    };
    const values = new Map<string, string>();
    let next: number | null | undefined = 1;
    while (next) {
      const path: string = `/events?${new URLSearchParams({ ...asked, page: String(next) })}`;
      const { events, meta }: LagoPage = await fetchJson(http, { method: 'GET', path, headers }, lagoPage, signal);
      for (const { transaction_id, timestamp, properties } of events) {
        values.set(`${transaction_id} ${timestamp}`, String(properties?.[outlet.send] ?? 0));
      }
      next = meta.next_page;
    }
    return sumText([...values.values()]);
  };

  return {
    limits: {
      eventsPerCall: 100,
      // The limit is 500 requests per second for events, 50 for others (getlago.com/docs/api-reference/rate-limits).
      callsPerSecond: 40,
      remembersMs: 36_500 * DAY_MS,
      maxEventAgeMs: null,
      acceptsNegative: true,
      visibleAfterMs: 60_000,
      sendsBothQuantities: true,
    },
    send: post,
    async usage(period, customers, signal) {
      const found = new Map<string, string>();
      for (const customer of customers) found.set(customer, await listed(customer, period, signal));
      return found;
    },
    async probe(signal) {
      const path = `/billable_metrics/${encodeURIComponent(outlet.meter)}`;
      const { billable_metric: metric } = await fetchJson(http, { method: 'GET', path, headers }, lagoMetric, signal);
      if (metric.aggregation_type === 'sum_agg' && metric.field_name === outlet.send) return;
      const found = `${metric.aggregation_type} of ${metric.field_name ?? 'nothing'}`;
      throw meterMismatchError(
        `the billable metric is ${found}`,
        `create a billable metric that sums \`${outlet.send}\``,
      );
    },
  };
}

function lagoEvent(event: UsageEvent, code: string) {
  return {
    transaction_id: event.id,
    external_subscription_id: event.customer,
    code,
    timestamp: (event.timeMs / 1000).toFixed(3),
    properties: {
      credits: String(event.credits),
      requests: String(event.requests),
      workspace_id: event.workspaceId,
      tenant_id: event.tenantId,
    },
  };
}

function outcomeOfFault(fault: unknown, displayText: (text: string) => string): SendOutcome {
  const text = JSON.stringify(fault);
  const read = z.object({ transaction_id: z.array(z.string()) }).safeParse(fault);
  if (read.success && read.data.transaction_id.includes('value_already_exist')) return { is: 'accepted' };
  return { is: 'refused', answer: displayText(text) };
}

/** Adds up numbers in text form. The sum is exact for whole numbers; only other senders' events have fractions. */
function sumText(values: readonly string[]): string {
  const whole = values.filter((value) => /^-?\d+$/.test(value)).reduce((sum, value) => sum + BigInt(value), 0n);
  const rest = values.filter((value) => !/^-?\d+$/.test(value)).reduce((sum, value) => sum + Number(value), 0);
  return rest === 0 ? String(whole) : String(Number(whole) + rest);
}
