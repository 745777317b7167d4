import { z } from 'zod';
import { isoTime } from '../../core/clock.ts';
import { DAY_MS } from '../../core/durations.ts';
import { periodEndMs, periodStartMs } from '../../core/period.ts';
import { chunks, fetchJson, meterMismatchError, numberText, sendRepresentable, sendSplitting } from '../answers.ts';
import { toCloudEvent, USAGE_EVENT_TYPE } from '../events.ts';
import type { Receiver, SendOutcome, UsageEvent } from '../receiver.ts';
import type { ReceiverDeps } from '../receiver-http.ts';

export interface OpenMeterOutlet {
  /** Null for a self-hosted OpenMeter without authentication. */
  token: string | null;
  /** The slug of the meter. */
  meter: string;
  send: 'credits' | 'requests';
}

const SUBJECTS_PER_QUERY = 50;
const openmeterMeter = z.object({
  aggregation: z.string(),
  eventType: z.string(),
  valueProperty: z.string().nullish(),
});
const queryAnswer = z.object({ data: z.array(z.object({ subject: z.string().nullish(), value: z.number() })) });

/**
 * Creates a receiver that sends CloudEvents to OpenMeter (openmeter.io/docs/metering/events/overview). Events may have
 * any age; a customer is a subject. If its setting `dedupe` is on, OpenMeter deduplicates source and id for 32 days; if
 * it is off, as in OpenMeter's sample configuration, each attempt counts. Negative values are summed. Sums are floats,
 * so a quantity that a float cannot represent exactly is refused without a request. OpenMeter accepts events that no
 * meter counts, so `probe` checks the meter.
 */
export function createOpenMeterReceiver(outlet: OpenMeterOutlet, { http, ledgerId }: ReceiverDeps): Receiver {
  const headers: Record<string, string> = outlet.token === null ? {} : { authorization: `Bearer ${outlet.token}` };
  const meter = `/api/v1/meters/${encodeURIComponent(outlet.meter)}`;

  const post = async (events: readonly UsageEvent[], signal: AbortSignal): Promise<SendOutcome> => {
    const body = JSON.stringify(events.map((event) => toCloudEvent(event, ledgerId)));
    const type = { 'content-type': 'application/cloudevents-batch+json' };
    const call = { method: 'POST' as const, path: '/api/v1/events', headers: { ...headers, ...type }, body };
    return http.outcomeOf(await http.call(call, signal));
  };

  return {
    limits: {
      eventsPerCall: 500,
      callsPerSecond: 20,
      remembersMs: 32 * DAY_MS,
      maxEventAgeMs: null,
      acceptsNegative: true,
      visibleAfterMs: 60_000,
      sendsBothQuantities: true,
    },
    send: (events, signal) =>
      sendRepresentable(events, openmeterRefusal, (fitting) => sendSplitting(fitting, (part) => post(part, signal))),
    async usage(period, customers, signal) {
      const found = new Map<string, string>();
      for (const part of chunks(customers, SUBJECTS_PER_QUERY)) {
        const query = new URLSearchParams([
          ['from', isoTime(periodStartMs(period))],
          ['to', isoTime(periodEndMs(period))],
          ['groupBy', 'subject'],
          ...part.map((subject): [string, string] => ['subject', subject]),
        ]);
        const path = `${meter}/query?${query}`;
        const { data } = await fetchJson(http, { method: 'GET', path, headers }, queryAnswer, signal);
        for (const { subject, value } of data) if (subject) found.set(subject, numberText(value));
      }
      return found;
    },
    async probe(signal) {
      const { aggregation, eventType, valueProperty } = await fetchJson(
        http,
        { method: 'GET', path: meter, headers },
        openmeterMeter,
        signal,
      );
      if (aggregation === 'SUM' && eventType === USAGE_EVENT_TYPE && valueProperty === `$.${outlet.send}`) return;
      const found = `${aggregation} of ${valueProperty ?? 'nothing'} in events of type ${eventType}`;
      throw meterMismatchError(
        `the meter is ${found}`,
        `create a meter with eventType ${USAGE_EVENT_TYPE}, aggregation SUM and valueProperty $.${outlet.send}`,
      );
    },
  };
}

function openmeterRefusal({ quantity }: UsageEvent): string | null {
  const exact = Number.isSafeInteger(Number(quantity));
  return exact ? null : `OpenMeter sums floats, which cannot represent ${quantity} exactly`;
}
