import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createFieldWorld, type FieldOrder } from '../../test/long/alert-year/field/field-world.ts';
import { playWorld } from '../../test/long/alert-year/play.ts';
import { type Scorecard, scoreMessages } from '../../test/long/alert-year/score/scorecard.ts';
import { readSentMessages, type SentMessage } from '../../test/long/alert-year/score/sent.ts';
import { Truth } from '../../test/long/alert-year/score/truth.ts';
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
  const world = createFieldWorld(order);
  const folder = keep ?? mkdtempSync(join(tmpdir(), 'bench-alerts-'));
  try {
    const path = join(folder, `seed-${order.seed}.db`);
    const { readings, elapsedMs, openAlerts } = await playWorld(world, path);
    const truth = new Truth(world, readings);
    const score = (messages: readonly SentMessage[], isProgram: boolean) =>
      scoreMessages({
        ...{ world, truth, causes: world.causes, messages },
        openAlerts: isProgram ? openAlerts : null,
        hasSeverity: isProgram,
      });
    const scorecards: Record<string, Scorecard> = { [PROGRAM]: score(readSentMessages(path), true) };
    if (withRivals) {
      const days = daysOf(readings);
      for (const rival of RIVALS) scorecards[rival.name] = score(rivalMessages(rival, days), false);
    }
    const seconds = elapsedMs / 1_000;
    return { seed: order.seed, tenants: world.tenants.length, runs: world.runsMs.length, seconds, scorecards };
  } finally {
    if (keep === null) rmSync(folder, { recursive: true, force: true });
  }
}
