import { z } from 'zod';
import { isoTime } from '../../core/clock.ts';
import { DAY_MS } from '../../core/durations.ts';
import { periodEndMs, periodStartMs } from '../../core/period.ts';
import { chunks, fetchJson, meterMismatchError, numberText, sendSplitting } from '../answers.ts';
import { USAGE_EVENT_TYPE } from '../events.ts';
import type { Receiver, SendOutcome, UsageEvent } from '../receiver.ts';
import type { ReceiverDeps } from '../receiver-http.ts';

export interface MetronomeOutlet {
  token: string;
  /** The id of the billable metric. */
  meter: string;
  send: 'credits' | 'requests';
}

const CUSTOMERS_PER_QUERY = 50;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const metronomeMetric = z.object({
  data: z.object({
    aggregation_type: z.string().nullish(),
    aggregation_key: z.string().nullish(),
    event_type_filter: z.object({ in_values: z.array(z.string()).nullish() }).nullish(),
  }),
});
const customersAnswer = z.object({ data: z.array(z.object({ id: z.string() })) });
const usageAnswer = z.object({
  data: z.array(z.object({ customer_id: z.string(), value: z.number().nullable() })),
  next_page: z.string().nullish(),
});

/**
 * Creates a receiver that sends to Metronome's ingest endpoint (docs.metronome.com/api-reference/usage/ingest-events):
 * at most 100 events per call, up to 34 days old. Metronome deduplicates a transaction id for 34 days. A customer is an
 * ingest alias or a Metronome id; events for an unknown alias are accepted and count once the alias exists. Values are
 * sent as text and summed exactly; the documentation does not say whether negative values are summed. The only
 * documented rate limit is 100,000 events per second.
 */
export function createMetronomeReceiver(outlet: MetronomeOutlet, { http }: ReceiverDeps): Receiver {
  const headers = { authorization: `Bearer ${outlet.token}`, 'content-type': 'application/json' };

  const post = async (events: readonly UsageEvent[], signal: AbortSignal): Promise<SendOutcome> => {
    const body = JSON.stringify(events.map(ingestEvent));
    return http.outcomeOf(await http.call({ method: 'POST', path: '/v1/ingest', headers, body }, signal));
  };

  /**
   * Returns the id that Metronome has for a customer; null if Metronome has no such customer. A usage query needs this
   * id.
   */
  const idOf = async (customer: string, signal: AbortSignal): Promise<string | null> => {
    const path = `/v1/customers?${new URLSearchParams({ ingest_alias: customer })}`;
    const { data } = await fetchJson(http, { method: 'GET', path, headers }, customersAnswer, signal);
    const known = data[0]?.id;
    return known ?? (UUID.test(customer) ? customer : null);
  };

  const usageOf = async (period: string, customerIds: string[], signal: AbortSignal): Promise<Map<string, string>> => {
    const body = JSON.stringify({
      starting_on: isoTime(periodStartMs(period)),
      ending_before: isoTime(periodEndMs(period)),
      window_size: 'NONE',
      billable_metrics: [{ id: outlet.meter }],
      customer_ids: customerIds,
    });
    const found = new Map<string, string>();
    let query = '';
    do {
      const call = { method: 'POST' as const, path: `/v1/usage${query}`, headers, body };
      const { data, next_page } = await fetchJson(http, call, usageAnswer, signal);
      for (const { customer_id, value } of data) found.set(customer_id, numberText(value ?? 0));
      query = next_page ? `?${new URLSearchParams({ next_page })}` : '';
    } while (query !== '');
    return found;
  };

  return {
    limits: {
      eventsPerCall: 100,
      callsPerSecond: 40,
      remembersMs: 34 * DAY_MS,
      maxEventAgeMs: 34 * DAY_MS,
      acceptsNegative: true,
      visibleAfterMs: 60_000,
      sendsBothQuantities: true,
    },
    send: (events, signal) => sendSplitting(events, (part) => post(part, signal)),
    async usage(period, customers, signal) {
      const found = new Map<string, string>();
      for (const part of chunks(customers, CUSTOMERS_PER_QUERY)) {
        const named = new Map<string, string>();
        for (const customer of part) {
          const id = await idOf(customer, signal);
          if (id !== null) named.set(customer, id);
        }
        const values = named.size === 0 ? null : await usageOf(period, [...new Set(named.values())], signal);
        for (const [customer, id] of named) found.set(customer, values?.get(id) ?? '0');
      }
      return found;
    },
    async probe(signal) {
      const path = `/v1/billable-metrics/${encodeURIComponent(outlet.meter)}`;
      const { data } = await fetchJson(http, { method: 'GET', path, headers }, metronomeMetric, signal);
      const types = data.event_type_filter?.in_values ?? [USAGE_EVENT_TYPE];
      const sums = data.aggregation_type === 'SUM' && data.aggregation_key === outlet.send;
      if (sums && types.includes(USAGE_EVENT_TYPE)) return;
      const found = `${data.aggregation_type} of ${data.aggregation_key} in events of type ${types.join(', ')}`;
      throw meterMismatchError(
        `the billable metric is ${found}`,
        `create a billable metric that sums \`${outlet.send}\` of events of type ${USAGE_EVENT_TYPE}`,
      );
    },
  };
}

function ingestEvent(event: UsageEvent) {
  return {
    transaction_id: event.id,
    customer_id: event.customer,
    event_type: USAGE_EVENT_TYPE,
    timestamp: isoTime(event.timeMs),
    properties: {
      credits: String(event.credits),
      requests: String(event.requests),
      workspace_id: event.workspaceId,
      tenant_id: event.tenantId,
      period: event.period,
    },
  };
}
