import { z } from 'zod';
import type { LateRefusals } from '../receiver.ts';

const TYPES = ['v1.billing.meter.error_report_triggered', 'v1.billing.meter.no_meter_found'];
const listAnswer = z.object({
  data: z.array(
    z.object({ id: z.string(), created: z.string(), related_object: z.object({ id: z.string() }).nullish() }),
  ),
  next_page_url: z.string().nullish(),
});
const sample = z.object({ error_message: z.string(), request: z.object({ identifier: z.string() }) });
const reportAnswer = z.object({
  data: z.object({
    reason: z.object({
      error_count: z.number(),
      error_types: z.array(z.object({ code: z.string(), sample_errors: z.array(sample) })),
    }),
  }),
});

type Ask = <T>(path: string, schema: z.ZodType<T>) => Promise<T>;

/**
 * What Stripe refused of a meter's stream after it had taken it, by its reports since that time (docs.stripe.com/api/v2/core/
 * events/event-types): it keeps them for 30 days. The list has the latest first and is read back to that time; what a report
 * says has to be asked of each.
 */
export async function readStripeReports(
  ask: Ask,
  { meter, sinceMs }: { meter: string; sinceMs: number },
): Promise<LateRefusals> {
  const refused = new Map<string, string>();
  let unnamed = 0;
  let untilMs: number | null = null;
  const types = TYPES.map((type, at): [string, string] => [`types[${at}]`, type]);
  let path: string | null = `/v2/core/events?${new URLSearchParams([...types, ['limit', '100']])}`;
  while (path !== null) {
    const { data, next_page_url }: z.output<typeof listAnswer> = await ask(path, listAnswer);
    const recent = data.filter(({ created }) => Date.parse(created) > sinceMs);
    for (const { id, created, related_object } of recent) {
      untilMs ??= Date.parse(created);
      if (related_object && related_object.id !== meter) continue;
      const { error_count, error_types } = (await ask(`/v2/core/events/${id}`, reportAnswer)).data.reason;
      const named = error_types.flatMap(({ code, sample_errors }) => sample_errors.map((error) => ({ code, error })));
      for (const { code, error } of named) refused.set(error.request.identifier, `${code}: ${error.error_message}`);
      unnamed += Math.max(0, error_count - named.length);
    }
    path = recent.length === data.length ? (next_page_url ?? null) : null;
  }
  return { refused, unnamed, untilMs };
}
