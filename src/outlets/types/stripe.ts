import pMap from 'p-map';
import { z } from 'zod';
import { DAY_MS } from '../../core/durations.ts';
import { periodEndMs, periodStartMs } from '../../core/period.ts';
import {
  fetchJson,
  numberText,
  parseJson,
  parseJsonAs,
  sendRepresentable,
  sendSplitting,
  unsentOutcome,
} from '../answers.ts';
import type { Receiver, SendOutcome, UsageEvent } from '../receiver.ts';
import type { ReceiverDeps } from '../receiver-http.ts';
import {
  readStripeReports,
  requireSummingMeter,
  type StripeMeter,
  stripeMeterSchema,
  toStripeMeterEvent,
} from './stripe-meter.ts';

export interface StripeOutlet {
  token: string;
  /** The id of the meter, `mtr_...`. */
  meter: string;
  streamUrl: string;
}

/**
 * Returns the URL of Stripe's event stream, which is on another host than the rest of the API. For any other `url`,
 * such as that of a test server, returns `url`.
 */
export function meterStreamUrl(url: string): string {
  return url === 'https://api.stripe.com' ? 'https://meter-events.stripe.com' : url;
}

/** The API version that Stripe's client library 23.1.0 uses. The tests use that library. */
const STRIPE_VERSION = '2026-10-28.endive';
const MAX_STRIPE_DIGITS = 15;
const MAX_CONCURRENT_QUERIES = 8;
const sessionAnswer = z.object({ authentication_token: z.string(), created: z.string(), expires_at: z.string() });
const errorAnswer = z.object({ error: z.object({ code: z.string(), param: z.string().optional() }) });
const summaryAnswer = z.object({ data: z.array(z.object({ aggregated_value: z.number() })) });

/**
 * Creates a receiver that sends to Stripe's meter event stream (docs.stripe.com/api/v2/billing/meter-event-stream): 100
 * events per call, up to 35 days old and 5 minutes ahead of Stripe's clock. Identifiers are unique within 24 hours. The
 * v1 API is too slow for a ledger: one event per call, 1,000 calls per second, and one call at a time per customer. The
 * stream checks events after it has answered. Its reports count all refused events but name only some of them
 * (`readLateRefusals`); a comparison with the sums of `usage` shows that others are missing.
 *
 * Values are whole numbers of at most 15 digits. Negative values are corrections (.../meters/configure), and a billing
 * cycle below zero is invoiced as zero. A finalised invoice does not change.
 */
export function createStripeReceiver(outlet: StripeOutlet, { http, clock }: ReceiverDeps): Receiver {
  const meterPath = `/v1/billing/meters/${encodeURIComponent(outlet.meter)}`;
  const headers = (token: string) => ({
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    'stripe-version': STRIPE_VERSION,
  });
  let session: { token: string; untilMs: number } | null = null;
  let known: StripeMeter | null = null;

  const ask = <T>(path: string, schema: z.ZodType<T>, signal: AbortSignal): Promise<T> =>
    fetchJson(http, { method: 'GET', path, headers: headers(outlet.token) }, schema, signal);

  /** Reads the meter from Stripe once. It does not retry, because the caller of `send` schedules all retries. */
  const askMeter = async (signal: AbortSignal): Promise<StripeMeter> => {
    const answer = await http.call({ method: 'GET', path: meterPath, headers: headers(outlet.token) }, signal);
    known = requireSummingMeter(parseJsonAs(http.requireBody(answer), stripeMeterSchema));
    return known;
  };

  const openSession = async (signal: AbortSignal): Promise<string> => {
    if (session !== null && session.untilMs > clock.now()) return session.token;
    const call = {
      method: 'POST' as const,
      path: '/v2/billing/meter_event_session',
      headers: headers(outlet.token),
      body: '{}',
    };
    const {
      authentication_token: token,
      created,
      expires_at,
    } = parseJsonAs(http.requireBody(await http.call(call, signal)), sessionAnswer);
    // Only the length of the token's lifetime is used, and not the time at which it expires, because Stripe's clock may
    // differ from this machine's clock.
    session = { token, untilMs: clock.now() + (Date.parse(expires_at) - Date.parse(created)) * 0.8 };
    return token;
  };

  const post = async (events: readonly UsageEvent[], signal: AbortSignal): Promise<SendOutcome> => {
    let found: StripeMeter;
    let token: string;
    try {
      found = known ?? (await askMeter(signal));
      token = await openSession(signal);
    } catch (error) {
      return unsentOutcome(error);
    }
    const body = JSON.stringify({ events: events.map((event) => toStripeMeterEvent(event, found)) });
    const call = { method: 'POST' as const, base: outlet.streamUrl, path: '/v2/billing/meter_event_stream', body };
    const answer = await http.call({ ...call, headers: headers(token) }, signal);
    const outcome = http.outcomeOf(answer);
    if (outcome.is !== 'unauthorized' || answer.status === null) return outcome;
    session = null;
    const expired = errorOf(answer.body)?.code === 'billing_meter_event_session_expired';
    return expired ? { is: 'retry', answer: outcome.answer, certain: true, afterMs: 0 } : outcome;
  };

  const sumOf = async (customer: string, period: string, signal: AbortSignal): Promise<string> => {
    const bounds = { start_time: String(periodStartMs(period) / 1000), end_time: String(periodEndMs(period) / 1000) };
    const path = `${meterPath}/event_summaries?${new URLSearchParams({ customer, ...bounds })}`;
    const answer = await http.callWithRetries({ method: 'GET', path, headers: headers(outlet.token) }, signal);
    const error = answer.status === 400 ? errorOf(answer.body) : null;
    // This error means that Stripe has no customer with that id, so the sum is 0.
    if (error?.code === 'resource_missing' && error.param === 'customer') return '0';
    const { data } = parseJsonAs(http.requireBody(answer), summaryAnswer);
    return numberText(data[0]?.aggregated_value ?? 0);
  };

  return {
    limits: {
      eventsPerCall: 100,
      callsPerSecond: 100,
      remembersMs: DAY_MS,
      // Stripe accepts 35 days. One hour is subtracted for the transit time and for a difference between the clocks.
      maxEventAgeMs: 35 * DAY_MS - 3_600_000,
      acceptsNegative: true,
      visibleAfterMs: 3_600_000,
      sendsBothQuantities: false,
    },
    send: (events, signal) =>
      sendRepresentable(events, stripeRefusal, (fitting) => sendSplitting(fitting, (part) => post(part, signal))),
    async usage(period, customers, signal) {
      const entry = async (customer: string): Promise<[string, string]> => [
        customer,
        await sumOf(customer, period, signal),
      ];
      return new Map(await pMap(customers, entry, { concurrency: MAX_CONCURRENT_QUERIES }));
    },
    async probe(signal) {
      await askMeter(signal);
    },
    readLateRefusals: (sinceMs, signal) =>
      readStripeReports((path, schema) => ask(path, schema, signal), { meter: outlet.meter, sinceMs }),
  };
}

function stripeRefusal({ quantity }: UsageEvent): string | null {
  const digits = String(quantity).replace('-', '').length;
  return digits <= MAX_STRIPE_DIGITS
    ? null
    : `${quantity} has more than the ${MAX_STRIPE_DIGITS} digits that Stripe accepts`;
}

function errorOf(body: string): { code: string; param?: string | undefined } | null {
  return errorAnswer.safeParse(parseJson(body)).data?.error ?? null;
}
