import type { z } from 'zod';
import { AppError } from '../core/errors.ts';
import type { Outcome, UsageEvent } from './receiver.ts';
import type { ReceiverCall, ReceiverHttp } from './receiver-http.ts';

/** The answer of a question, as its schema says. Raises as `ReceiverHttp.ask` does, and for any other answer. */
export async function askFor<T>(
  http: ReceiverHttp,
  call: ReceiverCall,
  schema: z.ZodType<T>,
  signal: AbortSignal,
): Promise<T> {
  return readAs(await http.ask(call, signal), schema);
}

export function readAs<T>(text: string, schema: z.ZodType<T>): T {
  const read = schema.safeParse(parsed(text));
  if (read.success) return read.data;
  throw new AppError('outlet_unreachable', 'its answer is none that it documents', {
    hint: 'check the address of the outlet, and what proxies between answer',
  });
}

/** What a question that comes before events, and was not answered, means for them: none was sent. */
export function outcomeOfQuestion(error: unknown): Outcome {
  if (!(error instanceof AppError)) throw error;
  if (error.code === 'outlet_unauthorised') return { is: 'unauthorised', answer: error.message };
  return { is: 'again', answer: error.message, certain: true, afterMs: null };
}

/** Null for what is no JSON: a schema refuses it like any other answer of a wrong form. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** A number of JSON as text: whole numbers without an exponent. */
export function numberText(value: number): string {
  return Number.isInteger(value) ? String(BigInt(value)) : String(value);
}

/** The list in parts of at most `size`. */
export function inParts<T>(list: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(list.length / size) }, (_, at) => list.slice(at * size, (at + 1) * size));
}

/** What stands there would not sum what is sent, so that nothing may be sent. */
export function mismatch(message: string, hint: string): AppError {
  return new AppError('outlet_mismatch', message, { hint });
}

/**
 * Posts the events in one call. Where a call is refused as a whole, its halves are tried by themselves, so that the events
 * that are at fault are found and the others are taken.
 */
export async function sendHalves(
  events: readonly UsageEvent[],
  post: (events: readonly UsageEvent[]) => Promise<Outcome>,
): Promise<Outcome[]> {
  if (events.length === 0) return [];
  const outcome = await post(events);
  if (outcome.is !== 'refused' || events.length === 1) return events.map(() => outcome);
  const half = Math.ceil(events.length / 2);
  const before = await sendHalves(events.slice(0, half), post);
  return [...before, ...(await sendHalves(events.slice(half), post))];
}

/** Sends the events that fit; the others are refused here, with their amount, since the receiver would keep another one. */
export async function sendFitting(
  events: readonly UsageEvent[],
  misfit: (event: UsageEvent) => string | null,
  send: (events: readonly UsageEvent[]) => Promise<Outcome[]>,
): Promise<Outcome[]> {
  const faults = events.map(misfit);
  const sent = (await send(events.filter((_, at) => faults[at] === null))).values();
  return faults.map((answer) => (answer === null ? sent.next().value : { is: 'refused', answer })) as Outcome[];
}
