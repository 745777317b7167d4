import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { UsageError } from '../../core/errors.ts';

const answer = z.strictObject({
  /** Whose history was asked for; null for the listing of all. */
  tenant: z.string().nullable(),
  /** As it was sent, with its question mark. */
  query: z.string(),
  status: z.int().min(200).max(599),
  /** How far the service's clock was ahead of the one that asked. */
  clock_ahead_seconds: z.int(),
  /** JSON text, without what nobody else must know; null where there was none that could be read. */
  body: z.string().nullable(),
});

const recordingSchema = z.strictObject({
  format: z.literal('usage-ledger-probe-1'),
  workspaces: z.array(z.strictObject({ id: z.string().min(1), answers: z.array(answer) })).min(1),
});

/** What a service has answered to a probe, in the order of the questions. */
export type Recording = z.output<typeof recordingSchema>;
export type RecordedAnswer = z.output<typeof answer>;

/** Raises UsageError for anything but a recording. */
export function loadRecording(file: string): Recording {
  try {
    return recordingSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    throw new UsageError(`${file} is no recording`, 'make one with `usage-ledger doctor --probe --record FILE`');
  }
}
