import { z } from 'zod';
import { isoTime } from '../../core/clock.ts';
import { DAY_MS } from '../../core/durations.ts';
import { periodEndMs, periodStartMs } from '../../core/period.ts';
import { askFor, mismatch, parsed } from '../answers.ts';
import type { Outcome, Receiver, UsageEvent } from '../receiver.ts';
import type { ReceiverDeps } from '../receiver-http.ts';

export interface LagoOutlet {
  token: string;
  /** The code of the billable metric. */
  meter: string;
  send: 'credits' | 'requests';
}

const refusal = z.object({ error_details: z.record(z.string(), z.unknown()) });
const page = z.object({
  events: z.array(
    z.object({
      transaction_id: z.string(),
      timestamp: z.string(),
      properties: z.record(z.string(), z.unknown()).nullish(),
    }),
  ),
  meta: z.object({ next_page: z.number().nullish() }),
});
type Page = z.output<typeof page>;
const metricAnswer = z.object({
  billable_metric: z.object({ aggregation_type: z.string(), field_name: z.string().nullish() }),
});

/**
 * Lago's batch of events (getlago.com/docs/api-reference/events/batch), at most 100, of any age. A customer is the external id
 * of a subscription. A batch is taken whole or not at all: its refusal names the events by their places, and those whose id
 * it has already (`value_already_exist`) are taken.
 *
 * Ids are kept for ever, with the time where ClickHouse keeps them, so an attempt never changes the time. Negative events
 * are summed; a month below zero is invoiced as zero. An unknown subscription or code is taken and told by the webhook
 * `events.errors` alone. Usage is read back from its list of events, which knows any month and no billing period.
 */
export function createLagoReceiver(outlet: LagoOutlet, { http }: ReceiverDeps): Receiver {
  const headers = { authorization: `Bearer ${outlet.token}`, 'content-type': 'application/json' };

  const post = async (events: readonly UsageEvent[], signal: AbortSignal): Promise<Outcome[]> => {
    if (events.length === 0) return [];
    const body = JSON.stringify({ events: events.map((event) => lagoEvent(event, outlet.meter)) });
    const answer = await http.call({ method: 'POST', path: '/events/batch', headers, body }, signal);
    const outcome = http.outcomeOf(answer);
    const read = refusal.safeParse(outcome.is === 'refused' && answer.status !== null ? parsed(answer.body) : null);
    if (!read.success) return events.map(() => outcome);
    const faults = read.data.error_details;
    const others = events.filter((_, at) => faults[at] === undefined);
    if (others.length === events.length) return events.map(() => outcome);
    const rest = await post(others, signal);
    return events.map((_, at) => {
      const fault = faults[at];
      if (fault !== undefined) return outcomeOfFault(fault, (text) => http.shown(text));
      return rest.shift() ?? outcome;
    });
  };

  const listed = async (customer: string, period: string, signal: AbortSignal): Promise<string> => {
    const asked = {
      external_subscription_id: customer,
      code: outlet.meter,
      timestamp_from: isoTime(periodStartMs(period)),
      // Both ends are included.
      timestamp_to: isoTime(periodEndMs(period) - 1),
      per_page: '100',
    };
    const values = new Map<string, string>();
    let next: number | null | undefined = 1;
    while (next) {
      const path: string = `/events?${new URLSearchParams({ ...asked, page: String(next) })}`;
      const { events, meta }: Page = await askFor(http, { method: 'GET', path, headers }, page, signal);
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
      // Events have 500 requests a second, all others 50 (getlago.com/docs/api-reference/rate-limits).
      callsPerSecond: 40,
      remembersMs: 36_500 * DAY_MS,
      takesBackMs: null,
      takesNegative: true,
      showsAfterMs: 60_000,
      carriesBoth: true,
    },
    send: post,
    async usage(period, customers, signal) {
      const found = new Map<string, string>();
      for (const customer of customers) found.set(customer, await listed(customer, period, signal));
      return found;
    },
    async probe(signal) {
      const path = `/billable_metrics/${encodeURIComponent(outlet.meter)}`;
      const { billable_metric: metric } = await askFor(http, { method: 'GET', path, headers }, metricAnswer, signal);
      if (metric.aggregation_type === 'sum_agg' && metric.field_name === outlet.send) return;
      const found = `${metric.aggregation_type} of ${metric.field_name ?? 'nothing'}`;
      throw mismatch(`its billable metric is ${found}`, `make a billable metric that sums \`${outlet.send}\``);
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

function outcomeOfFault(fault: unknown, shown: (text: string) => string): Outcome {
  const text = JSON.stringify(fault);
  const read = z.object({ transaction_id: z.array(z.string()) }).safeParse(fault);
  if (read.success && read.data.transaction_id.includes('value_already_exist')) return { is: 'taken' };
  return { is: 'refused', answer: shown(text) };
}

/** Exact for whole numbers; others sent the fractions, if there are any. */
function sumText(values: readonly string[]): string {
  const whole = values.filter((value) => /^-?\d+$/.test(value)).reduce((sum, value) => sum + BigInt(value), 0n);
  const rest = values.filter((value) => !/^-?\d+$/.test(value)).reduce((sum, value) => sum + Number(value), 0);
  return rest === 0 ? String(whole) : String(Number(whole) + rest);
}
