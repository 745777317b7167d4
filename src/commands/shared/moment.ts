import { parseDateTime } from '../../core/date-time.ts';
import { UsageError } from '../../core/errors.ts';

/** Milliseconds since the epoch of what an option says; a date alone is its first instant, and without a zone it is UTC. */
export function parseMoment(option: string, text: string): number {
  const epochMs = parseDateTime(text.includes('T') ? text : `${text}T00:00:00Z`);
  if (epochMs !== null) return epochMs;
  throw new UsageError(
    `${option} ${JSON.stringify(text)} is not a time`,
    'write it as ISO-8601, such as 2026-04-01 or 2026-04-01T08:00:00Z; without a zone it is UTC',
  );
}
