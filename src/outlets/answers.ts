import type { z } from 'zod';
import { AppError } from '../core/errors.ts';
import type { Outcome, UsageEvent } from './receiver.ts';
import type { ReceiverCall, ReceiverHttp } from './receiver-http.ts';

/** Makes a read request and parses its answer with a schema. Throws as `ReceiverHttp.ask` does, and if the schema does not match. */
export async function getParsed<T>(
  http: ReceiverHttp,
  call: ReceiverCall,
  schema: z.ZodType<T>,
  signal: AbortSignal,
): Promise<T> {
  return parseAs(await http.ask(call, signal), schema);
}

export function parseAs<T>(text: string, schema: z.ZodType<T>): T {
  const read = schema.safeParse(parseJson(text));
  if (read.success) return read.data;
  throw new AppError('outlet_unreachable', 'the answer does not match the API documentation of the receiver', {
    hint: 'check the url of the outlet, and that no proxy answers in its place',
  });
}

/** Converts the error of a read request into the outcome of the events that depend on it: they were certainly not sent. */
export function outcomeOfReadError(error: unknown): Outcome {
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

/** Formats a JSON number as text, whole numbers without an exponent. */
export function numberText(value: number): string {
  return Number.isInteger(value) ? String(BigInt(value)) : String(value);
}

/** Splits a list into parts of at most `size`. */
export function chunks<T>(list: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(list.length / size) }, (_, at) => list.slice(at * size, (at + 1) * size));
}

/** Creates the error for a meter that would not sum the events. */
export function mismatchError(message: string, hint: string): AppError {
  return new AppError('outlet_mismatch', message, { hint });
}

/**
 * Posts the events in one call. If the receiver refuses the call, posts its halves separately, until only the faulty events
 * are refused.
 */
export async function sendSplitting(
  events: readonly UsageEvent[],
  post: (events: readonly UsageEvent[]) => Promise<Outcome>,
): Promise<Outcome[]> {
  if (events.length === 0) return [];
  const outcome = await post(events);
  if (outcome.is !== 'refused' || events.length === 1) return events.map(() => outcome);
  const half = Math.ceil(events.length / 2);
  const before = await sendSplitting(events.slice(0, half), post);
  return [...before, ...(await sendSplitting(events.slice(half), post))];
}

/** Sends the events that the receiver can represent exactly, and refuses the others with the reason that `refusalReason` returns. */
export async function sendRepresentable(
  events: readonly UsageEvent[],
  refusalReason: (event: UsageEvent) => string | null,
  send: (events: readonly UsageEvent[]) => Promise<Outcome[]>,
): Promise<Outcome[]> {
  const faults = events.map(refusalReason);
  const sent = (await send(events.filter((_, at) => faults[at] === null))).values();
  return faults.map((answer) => (answer === null ? sent.next().value : { is: 'refused', answer })) as Outcome[];
}
