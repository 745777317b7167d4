import { z } from 'zod';
import { parseDateTime } from '../../../src/core/date-time.ts';
import { LARGEST_FIGURE } from '../../../src/core/figure.ts';
import { isPeriod } from '../../../src/core/period.ts';
import { strayBound } from '../../../src/usage-api/answers/billing-month.ts';
import { isTooLong, isWellFormed } from '../../../src/usage-api/answers/check-item.ts';
import { successEnvelope } from '../../../src/usage-api/answers/schemas.ts';

const id = z.string().min(1).refine(isWellFormed, 'is not valid Unicode');
const tenantId = id.refine((text) => !isTooLong(text), 'is too long');
const dateTime = z.string().refine((text) => parseDateTime(text) !== null, 'is not an ISO-8601 date-time');
const count = z.int().nonnegative();
const int64 = z.union([z.int(), z.bigint().min(-LARGEST_FIGURE).max(LARGEST_FIGURE)]);

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
