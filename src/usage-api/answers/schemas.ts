import { z } from 'zod';
import { parseDateTime } from '../../core/date-time.ts';

const dateTime = z.string().refine((text) => parseDateTime(text) !== null, 'is not an ISO-8601 date-time');

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
