import { z } from 'zod';
import { isoTime } from '../../core/clock.ts';
import { DAY_MS } from '../../core/durations.ts';
import { periodEndMs, periodStartMs } from '../../core/period.ts';
import { askFor, inParts, mismatch, numberText, sendFitting, sendHalves } from '../answers.ts';
import { cloudEvent, USAGE_EVENT_TYPE } from '../events.ts';
import type { Outcome, Receiver, UsageEvent } from '../receiver.ts';
import type { ReceiverDeps } from '../receiver-http.ts';

export interface OpenMeterOutlet {
  /** Null: one's own OpenMeter asks for none. */
  token: string | null;
  /** The slug of the meter. */
  meter: string;
  send: 'credits' | 'requests';
}

const SUBJECTS_PER_QUESTION = 50;
const meterAnswer = z.object({ aggregation: z.string(), eventType: z.string(), valueProperty: z.string().nullish() });
const queryAnswer = z.object({ data: z.array(z.object({ subject: z.string().nullish(), value: z.number() })) });

/**
 * OpenMeter's CloudEvents (openmeter.io/docs/metering/events/overview), of any age; a customer is a subject. It counts a source
 * and id once within 32 days, as its configuration says (`dedupe`, off in its sample): without it, each attempt would count.
 * Negative values are summed. Sums are floats there: what a float does not hold exactly is refused here. What has no meter or
 * no value is taken and shown by its list of events alone, so `probe` looks at the meter.
 */
export function createOpenMeterReceiver(outlet: OpenMeterOutlet, { http, ledgerId }: ReceiverDeps): Receiver {
  const headers: Record<string, string> = outlet.token === null ? {} : { authorization: `Bearer ${outlet.token}` };
  const meter = `/api/v1/meters/${encodeURIComponent(outlet.meter)}`;

  const post = async (events: readonly UsageEvent[], signal: AbortSignal): Promise<Outcome> => {
    const body = JSON.stringify(events.map((event) => cloudEvent(event, ledgerId)));
    const type = { 'content-type': 'application/cloudevents-batch+json' };
    const call = { method: 'POST' as const, path: '/api/v1/events', headers: { ...headers, ...type }, body };
    return http.outcomeOf(await http.call(call, signal));
  };

  return {
    limits: {
      eventsPerCall: 500,
      callsPerSecond: 20,
      remembersMs: 32 * DAY_MS,
      takesBackMs: null,
      takesNegative: true,
      showsAfterMs: 60_000,
      carriesBoth: true,
    },
    send: (events, signal) =>
      sendFitting(events, misfit, (fitting) => sendHalves(fitting, (part) => post(part, signal))),
    async usage(period, customers, signal) {
      const found = new Map<string, string>();
      for (const part of inParts(customers, SUBJECTS_PER_QUESTION)) {
        const query = new URLSearchParams([
          ['from', isoTime(periodStartMs(period))],
          ['to', isoTime(periodEndMs(period))],
          ['groupBy', 'subject'],
          ...part.map((subject): [string, string] => ['subject', subject]),
        ]);
        const path = `${meter}/query?${query}`;
        const { data } = await askFor(http, { method: 'GET', path, headers }, queryAnswer, signal);
        for (const { subject, value } of data) if (subject) found.set(subject, numberText(value));
      }
      return found;
    },
    async probe(signal) {
      const { aggregation, eventType, valueProperty } = await askFor(
        http,
        { method: 'GET', path: meter, headers },
        meterAnswer,
        signal,
      );
      if (aggregation === 'SUM' && eventType === USAGE_EVENT_TYPE && valueProperty === `$.${outlet.send}`) return;
      const found = `${aggregation} of ${valueProperty ?? 'nothing'} in events of type ${eventType}`;
      throw mismatch(
        `its meter is ${found}`,
        `make a meter with eventType ${USAGE_EVENT_TYPE}, aggregation SUM and valueProperty $.${outlet.send}`,
      );
    },
  };
}

function misfit({ quantity }: UsageEvent): string | null {
  const exact = Number.isSafeInteger(Number(quantity));
  return exact ? null : `OpenMeter sums floats, which do not hold ${quantity} exactly`;
}
