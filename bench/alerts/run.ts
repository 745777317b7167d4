import { execFile } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { FIELD_YEAR } from '../../test/long/alert-year/field/field-world.ts';
import { CAUSE_NAMES } from '../../test/long/alert-year/field/shared-causes.ts';
import type { Scorecard } from '../../test/long/alert-year/score/scorecard.ts';
import { missedLines, programTable, rivalTable } from './table.ts';
import { PROGRAM, type YearOrder, type YearResult } from './year-process.ts';

const HELP = `Usage: npm run bench:alerts -- [options]

Plays years like the field's and holds each message against the service's final figures. Prints the program's table by seed, then
the program beside simple methods on the same readings. One process plays one seed.

  --seeds 1,2,3       seeds (default 1,2,3)
  --causes NAME,...   what tenants share (default field: two weeks in which everybody doubled); a table for each name:
                      ${CAUSE_NAMES.join(', ')}
  --tenants 230       tenants, without free ones
  --days 410          days from the first run to the last; the first two and a half months after --from are not judged
  --from 2025-10      first month that the service knows
  --at-a-time 2       processes at a time
  --no-rivals         the program alone
  --faults            list each miss: what was sent, and what was true
  --keep FOLDER       keep the ledgers

  --quick             seed 1, 60 tenants, 110 days from 2026-04 on, no rivals: July and August with their shared cause in about
                      ten seconds. Single options change it. Targets are for whole years.
`;

const WHOLE = {
  seeds: '1,2,3',
  tenants: String(FIELD_YEAR.tenants),
  days: String(FIELD_YEAR.days),
  from: FIELD_YEAR.from,
  rivals: true,
};
const QUICK: typeof WHOLE = { seeds: '1', tenants: '60', days: '110', from: '2026-04', rivals: false };

const { values: given } = parseArgs({
  allowNegative: true,
  options: {
    seeds: { type: 'string' },
    causes: { type: 'string', default: FIELD_YEAR.causes.join(',') },
    tenants: { type: 'string' },
    days: { type: 'string' },
    from: { type: 'string' },
    'at-a-time': { type: 'string', default: '2' },
    rivals: { type: 'boolean' },
    faults: { type: 'boolean', default: false },
    keep: { type: 'string' },
    quick: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const values = { ...(given.quick ? QUICK : WHOLE), ...given };
const run = promisify(execFile);

if (values.help) process.stdout.write(HELP);
else {
  const seeds = values.seeds.split(',').map(Number);
  for (const cause of values.causes.split(',')) {
    const years = await playSeeds(seeds, cause);
    const cardsOf = (name: string): Scorecard[] => years.flatMap(({ scorecards }) => scorecards[name] ?? []);
    const { tenants, runs } = years[0] as YearResult;
    process.stdout.write(
      `Shared cause: ${cause}. ${tenants} tenants, ${runs} runs.\n\n${programTable(seeds, cardsOf(PROGRAM))}\n\n`,
    );
    const names = Object.keys(years[0]?.scorecards ?? {});
    process.stdout.write(`${missedLines(cardsOf(PROGRAM))}\n\n`);
    if (values.rivals) process.stdout.write(`${rivalTable(new Map(names.map((name) => [name, cardsOf(name)])))}\n\n`);
    if (values.faults) {
      for (const { seed, scorecards } of years) {
        for (const fault of scorecards[PROGRAM]?.faults ?? []) process.stdout.write(`seed ${seed}: ${fault}\n`);
      }
    }
  }
}

/** Plays one year a seed, each in a process of its own; results are in the order of the seeds. */
async function playSeeds(seeds: readonly number[], cause: string): Promise<YearResult[]> {
  const waiting = [...seeds.entries()];
  const results: YearResult[] = [];
  const lane = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [place, seed] = next;
      const result = await playSeed(seed, cause);
      results[place] = result;
      process.stderr.write(`${cause}, seed ${seed}: ${result.seconds.toFixed(0)} s\n`);
    }
  };
  await Promise.all(Array.from({ length: Number(values['at-a-time']) }, lane));
  return results;
}

async function playSeed(seed: number, cause: string): Promise<YearResult> {
  if (values.keep !== undefined) mkdirSync(join(values.keep, cause), { recursive: true });
  const order: YearOrder = {
    seed,
    tenants: Number(values.tenants),
    from: values.from,
    days: Number(values.days),
    causes: [cause],
    withRivals: values.rivals,
    keep: values.keep === undefined ? null : join(values.keep, cause),
  };
  const script = join(import.meta.dirname, 'year-process.ts');
  const { stdout } = await run(process.execPath, [script, JSON.stringify(order)], { maxBuffer: 1e8 });
  return JSON.parse(stdout) as YearResult;
}
