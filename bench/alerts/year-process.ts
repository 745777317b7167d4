import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FieldOrder } from '../../test/long/alert-year/field/field-world.ts';
import { playField } from '../../test/long/alert-year/field/play-field.ts';
import type { Scorecard } from '../../test/long/alert-year/score/scorecard.ts';
import { daysOf } from './days.ts';
import { RIVALS, rivalMessages } from './rivals.ts';

/** What the process of one year prints as JSON. */
export interface YearResult {
  seed: number;
  tenants: number;
  runs: number;
  /** Time that the runs took, without the rivals. */
  seconds: number;
  /** By the name of a method; the program first. */
  scorecards: Record<string, Scorecard>;
}

export const PROGRAM = 'usage-ledger';

/** The work of one process: a world, and whether rivals see it, too. */
export interface YearOrder extends FieldOrder {
  withRivals: boolean;
  /** A folder that keeps the ledger; null: none does. */
  keep: string | null;
}

if (import.meta.main) {
  const order = JSON.parse(process.argv[2] ?? '') as YearOrder;
  process.stdout.write(JSON.stringify(await playYear(order)));
}

async function playYear({ withRivals, keep, ...order }: YearOrder): Promise<YearResult> {
  const folder = keep ?? mkdtempSync(join(tmpdir(), 'bench-alerts-'));
  try {
    const { world, readings, seconds, program, scoreRival } = await playField(
      order,
      join(folder, `seed-${order.seed}.db`),
    );
    const scorecards: Record<string, Scorecard> = { [PROGRAM]: program };
    if (withRivals) {
      const days = daysOf(readings);
      for (const rival of RIVALS) scorecards[rival.name] = scoreRival(rivalMessages(rival, days));
    }
    return { seed: order.seed, tenants: world.tenants.length, runs: world.runsMs.length, seconds, scorecards };
  } finally {
    if (keep === null) rmSync(folder, { recursive: true, force: true });
  }
}
