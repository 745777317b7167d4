import { z } from 'zod';
import { parseDateTime } from '../../core/date-time.ts';
import { LARGEST_FIGURE } from '../../core/figure.ts';
import { isPeriod } from '../../core/period.ts';
import { strayBound } from './billing-month.ts';
import { isTooLong, isWellFormed } from './check-item.ts';

const id = z.string().min(1).refine(isWellFormed, 'is not valid Unicode');
const tenantId = id.refine((text) => !isTooLong(text), 'is too long');
const dateTime = z.string().refine((text) => parseDateTime(text) !== null, 'is not an ISO-8601 date-time');
const count = z.int().nonnegative();
const int64 = z.union([z.int(), z.bigint().min(-LARGEST_FIGURE).max(LARGEST_FIGURE)]);

/** The envelope of every successful answer, around this data. */
export function successEnvelope<T extends z.ZodType>(data: T) {
  return z.looseObject({ message: z.unknown().optional(), success: z.literal(true), data });
}

/**
 * A dashboard. Only its id is insisted on: whoever asked for it needs that, and refusing the answer for any other field
 * would hide that the dashboard now exists.
 */
export const dashboardSchema = z.looseObject({
  dashboard_id: z.string().min(1),
  title: z.string().nullish(),
  description: z.string().nullish(),
  workspace_id: z.string().nullish(),
  dashboard_status: z.string().nullish(),
  meta: z.record(z.string(), z.unknown()).nullish(),
  configuration: z.record(z.string(), z.unknown()).nullish(),
  is_public: z.boolean().nullish(),
  created_by: z.string().nullish(),
  modified_by: z.string().nullish(),
  deleted_by: z.string().nullish(),
  created_at: z.string().nullish(),
  modified_at: z.string().nullish(),
});

export const embedTokenSchema = z.looseObject({ token: z.string().min(1), expires_at: dateTime });

export type Dashboard = z.infer<typeof dashboardSchema>;
export type EmbedToken = z.infer<typeof embedTokenSchema>;

const usageItemSchema = z
  .looseObject({
    tenant_id: tenantId,
    period: z.string().refine(isPeriod, 'is not a month'),
    period_start: dateTime,
    period_end: dateTime,
    credits_used: int64,
    request_count: int64,
  })
  .refine(
    ({ period, period_start, period_end }) =>
      !isPeriod(period) || strayBound(period, period_start, period_end) === null,
    'has bounds of another month',
  );

/**
 * The usage page as the interface document has it: the reference for `checkUsagePage`, which says the same by hand and
 * much faster. That the ids are the ones asked for is not part of it.
 */
export const usagePageSchema = successEnvelope(
  z.looseObject({
    workspace_id: z.string(),
    tenant_id: z.unknown().optional(),
    usage: z.array(usageItemSchema),
    total_records: count,
    total_pages: count,
  }),
);
