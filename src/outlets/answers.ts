import type { z } from 'zod';
import { AppError } from '../core/errors.ts';
import type { SendOutcome, UsageEvent } from './receiver.ts';
import type { ReceiverHttp, ReceiverRequest } from './receiver-http.ts';

/**
 * Makes a read request and parses the JSON answer with a schema. Throws the errors of `ReceiverHttp.fetchBody`, and
 * `outlet_unreachable` if the answer does not match the schema.
 */
export async function fetchJson<T>(
  http: ReceiverHttp,
  call: ReceiverRequest,
  schema: z.ZodType<T>,
  signal: AbortSignal,
): Promise<T> {
  return parseJsonAs(await http.fetchBody(call, signal), schema);
}

/** Parses JSON with a schema. Throws `outlet_unreachable` if the text does not match. */
export function parseJsonAs<T>(text: string, schema: z.ZodType<T>): T {
  const read = schema.safeParse(parseJson(text));
  if (read.success) return read.data;
  throw new AppError('outlet_unreachable', 'the answer does not match the API documentation of the receiver', {
    hint: 'check the url of the outlet, and that no proxy answers in its place',
  });
}

/**
 * Converts the error of a read request that had to succeed before the events could be sent into the outcome of these
 * events: they were certainly not sent.
 */
export function unsentOutcome(error: unknown): SendOutcome {
  if (!(error instanceof AppError)) throw error;
  if (error.code === 'outlet_unauthorized') return { is: 'unauthorized', answer: error.message };
  return { is: 'retry', answer: error.message, certain: true, afterMs: null };
}

/** Parses JSON. Returns null for invalid JSON, which every schema here rejects. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Formats a JSON number as text; a whole number never gets an exponent. */
export function numberText(value: number): string {
  return Number.isInteger(value) ? String(BigInt(value)) : String(value);
}

/** Splits a list into parts of at most `size` items. */
export function chunks<T>(list: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(list.length / size) }, (_, at) => list.slice(at * size, (at + 1) * size));
}

/** Creates the error for a meter that would not sum the events. */
export function meterMismatchError(message: string, hint: string): AppError {
  return new AppError('outlet_mismatch', message, { hint });
}

/**
 * Posts the events in one call. If the receiver refuses the call, posts each half of the events in a call of its own,
 * and so on, until only the faulty events are refused.
 */
export async function sendSplitting(
  events: readonly UsageEvent[],
  post: (events: readonly UsageEvent[]) => Promise<SendOutcome>,
): Promise<SendOutcome[]> {
  if (events.length === 0) return [];
  const outcome = await post(events);
  if (outcome.is !== 'refused' || events.length === 1) return events.map(() => outcome);
  const half = Math.ceil(events.length / 2);
  const before = await sendSplitting(events.slice(0, half), post);
  return [...before, ...(await sendSplitting(events.slice(half), post))];
}

/**
 * Sends the events that the receiver can represent exactly. `refusalReason` returns null for these events. The other
 * events are not sent; their outcome is `refused` with the returned reason.
 */
export async function sendRepresentable(
  events: readonly UsageEvent[],
  refusalReason: (event: UsageEvent) => string | null,
  send: (events: readonly UsageEvent[]) => Promise<SendOutcome[]>,
): Promise<SendOutcome[]> {
  const faults = events.map(refusalReason);
  const sent = (await send(events.filter((_, at) => faults[at] === null))).values();
  return faults.map((answer) => (answer === null ? sent.next().value : { is: 'refused', answer })) as SendOutcome[];
}
