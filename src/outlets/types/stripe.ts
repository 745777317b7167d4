import { z } from 'zod';
import { DAY_MS } from '../../core/durations.ts';
import { periodEndMs, periodStartMs } from '../../core/period.ts';
import { askFor, inParts, numberText, outcomeOfQuestion, parsed, readAs, sendFitting, sendHalves } from '../answers.ts';
import type { Outcome, Receiver, UsageEvent } from '../receiver.ts';
import type { ReceiverDeps } from '../receiver-http.ts';
import { checkMeter, meterAnswer, readStripeReports, type StripeMeter, streamEvent } from './stripe-meter.ts';

export interface StripeOutlet {
  token: string;
  /** The id of the meter, `mtr_...`. */
  meter: string;
  streamUrl: string;
}

/** Stripe's stream has a host of its own; a stand-in is one host. */
export function streamUrlOf(url: string): string {
  return url === 'https://api.stripe.com' ? 'https://meter-events.stripe.com' : url;
}

/** The one that the client 23.1.0 has, which the tests hold this against. */
const VERSION = '2026-10-28.endive';
const MOST_DIGITS = 15;
const STRIPE_LANES = 8;
const sessionAnswer = z.object({ authentication_token: z.string(), created: z.string(), expires_at: z.string() });
const errorAnswer = z.object({ error: z.object({ code: z.string(), param: z.string().optional() }) });
const summaryAnswer = z.object({ data: z.array(z.object({ aggregated_value: z.number() })) });

/**
 * Stripe's stream of meter events (docs.stripe.com/api/v2/billing/meter-event-stream): 100 events a call, up to 35 days back and
 * 5 minutes ahead, an identifier unique within 24 hours. v1 has one event a call, 1,000 calls a second and one at a time for
 * a customer, which is less than a ledger sends. The price: the stream validates after its answer. What it refuses then
 * stands in reports that count all and name samples (`refusedLater`); the sums of `usage` show the others.
 *
 * Values are whole numbers of at most 15 digits; negative ones correct (.../meters/configure), and a cycle below zero is
 * invoiced as zero. An invoice that is finalised does not change.
 */
export function createStripeReceiver(outlet: StripeOutlet, { http, clock }: ReceiverDeps): Receiver {
  const meterPath = `/v1/billing/meters/${encodeURIComponent(outlet.meter)}`;
  const headers = (token: string) => ({
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    'stripe-version': VERSION,
  });
  let session: { token: string; untilMs: number } | null = null;
  let known: StripeMeter | null = null;

  const ask = <T>(path: string, schema: z.ZodType<T>, signal: AbortSignal): Promise<T> =>
    askFor(http, { method: 'GET', path, headers: headers(outlet.token) }, schema, signal);

  /** Asked once: a send does not wait, since whoever sends knows when to try again. */
  const askMeter = async (signal: AbortSignal): Promise<StripeMeter> => {
    const answer = await http.call({ method: 'GET', path: meterPath, headers: headers(outlet.token) }, signal);
    known = checkMeter(readAs(http.usable(answer), meterAnswer));
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
    } = readAs(http.usable(await http.call(call, signal)), sessionAnswer);
    // Stripe's clock need not be ours: only the time between counts.
    session = { token, untilMs: clock.now() + (Date.parse(expires_at) - Date.parse(created)) * 0.8 };
    return token;
  };

  const post = async (events: readonly UsageEvent[], signal: AbortSignal): Promise<Outcome> => {
    let found: StripeMeter;
    let token: string;
    try {
      found = known ?? (await askMeter(signal));
      token = await openSession(signal);
    } catch (error) {
      return outcomeOfQuestion(error);
    }
    const body = JSON.stringify({ events: events.map((event) => streamEvent(event, found)) });
    const call = { method: 'POST' as const, base: outlet.streamUrl, path: '/v2/billing/meter_event_stream', body };
    const answer = await http.call({ ...call, headers: headers(token) }, signal);
    const outcome = http.outcomeOf(answer);
    if (outcome.is !== 'unauthorised' || answer.status === null) return outcome;
    session = null;
    const expired = errorOf(answer.body)?.code === 'billing_meter_event_session_expired';
    return expired ? { is: 'again', answer: outcome.answer, certain: true, afterMs: 0 } : outcome;
  };

  const sumOf = async (customer: string, period: string, signal: AbortSignal): Promise<string> => {
    const bounds = { start_time: String(periodStartMs(period) / 1000), end_time: String(periodEndMs(period) / 1000) };
    const path = `${meterPath}/event_summaries?${new URLSearchParams({ customer, ...bounds })}`;
    const answer = await http.question({ method: 'GET', path, headers: headers(outlet.token) }, signal);
    const error = answer.status === 400 ? errorOf(answer.body) : null;
    // Nobody has that id there.
    if (error?.code === 'resource_missing' && error.param === 'customer') return '0';
    const { data } = readAs(http.usable(answer), summaryAnswer);
    return numberText(data[0]?.aggregated_value ?? 0);
  };

  return {
    limits: {
      eventsPerCall: 100,
      callsPerSecond: 100,
      remembersMs: DAY_MS,
      // An hour less than the 35 days: an event may be on its way, and their clock is another.
      takesBackMs: 35 * DAY_MS - 3_600_000,
      takesNegative: true,
      showsAfterMs: 3_600_000,
      carriesBoth: false,
    },
    send: (events, signal) =>
      sendFitting(events, misfit, (fitting) => sendHalves(fitting, (part) => post(part, signal))),
    async usage(period, customers, signal) {
      const found = new Map<string, string>();
      for (const part of inParts(customers, STRIPE_LANES)) {
        const values = await Promise.all(part.map((customer) => sumOf(customer, period, signal)));
        for (const [at, customer] of part.entries()) found.set(customer, values[at] ?? '0');
      }
      return found;
    },
    async probe(signal) {
      await askMeter(signal);
    },
    refusedLater: (sinceMs, signal) =>
      readStripeReports((path, schema) => ask(path, schema, signal), { meter: outlet.meter, sinceMs }),
  };
}

function misfit({ quantity }: UsageEvent): string | null {
  const digits = String(quantity).replace('-', '').length;
  return digits <= MOST_DIGITS ? null : `Stripe takes at most ${MOST_DIGITS} digits, not ${quantity}`;
}

function errorOf(body: string): { code: string; param?: string | undefined } | null {
  return errorAnswer.safeParse(parsed(body)).data?.error ?? null;
}
