import { fork } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { everyKind } from './play/coverage.ts';
import { drawPlan, LONG_DAYS, type Plan } from './play/plan.ts';
import { type Broken, type Outcome, play, warmUp } from './play/play.ts';
import { shrink } from './play/shrink.ts';

const HELP = `Plays worlds: the whole program on one virtual clock, beside services, receivers, clocks, disks and people that
behave badly, each drawn by a seed. Whatever breaks a documented promise is shrunk and printed.

  npm run simulate                          two minutes of worlds, over all cores
  npm run simulate -- --minutes 60          as many worlds as fit
  npm run simulate -- --seed 17 --trace     one world, with all that happened in it
  npm run simulate -- --seed 17 --only 2,5  the same world, of its happenings the third and sixth

  --days N     the longest world, in days (default 3); from 10 on each lasts so long
  --from N     the first seed (default: drawn by the time of day, and printed)
  --players N  processes that play beside each other (default: one a core)
  --first      end at the first promise that is broken, without looking for the fewest happenings
`;

/** In so many worlds everything has happened that can. */
const LONG_PLAY = 500;
const SEEDS_FILE = fileURLToPath(new URL('seeds.txt', import.meta.url));

interface Options {
  seed?: string | undefined;
  only?: string | undefined;
  trace?: boolean | undefined;
  minutes?: string | undefined;
  days?: string | undefined;
  from?: string | undefined;
  players?: string | undefined;
  first?: boolean | undefined;
  help?: boolean | undefined;
}

/** The longest world, and how many processes play beside each other. */
interface Playing {
  days: number;
  players: number;
}

/** What a player tells of one world. */
interface Report {
  seed: number;
  events: number;
  virtualMs: number;
  met: [string, number][];
  broken: Broken | null;
  /** Of the happenings that suffice to break it. */
  needed: number[];
}

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    only: { type: 'string' },
    trace: { type: 'boolean' },
    minutes: { type: 'string' },
    days: { type: 'string' },
    from: { type: 'string' },
    players: { type: 'string' },
    first: { type: 'boolean' },
    help: { type: 'boolean', short: 'h' },
  },
});
process.exitCode = await main(values);

async function main(options: Options): Promise<number> {
  const days = Number(options.days ?? 3);
  if (options.help === true) {
    process.stdout.write(HELP);
    return 0;
  }
  const players = Number(options.players ?? availableParallelism());
  const playing = { days, players };
  if (process.send !== undefined) return playOn(Number(options.from), playing, options.first !== true);
  if (options.seed !== undefined) return playOne(options, days);
  return playMany(options, playing);
}

async function playOne({ seed, only, trace }: Options, days: number): Promise<number> {
  await warmUp();
  const whole = drawPlan(Number(seed), { days });
  const kept = only?.split(',').map(Number);
  const plan =
    kept === undefined ? whole : { ...whole, happenings: whole.happenings.filter(({ id }) => kept.includes(id)) };
  const outcome = await play(plan);
  if (trace === true) process.stdout.write(`${outcome.trace.join('\n')}\n`);
  process.stdout.write(
    `${JSON.stringify(plan.happenings, null, 1)}\nseed ${seed}: ${outcome.events} events, digest ${outcome.digest}\n`,
  );
  if (outcome.broken === null) return 0;
  process.stdout.write(`${outcome.broken.at} ${outcome.broken.detail}\n`);
  return 1;
}

/** A player: plays seeds that lie as far apart as there are players, until it is ended or nobody listens. */
async function playOn(from: number, { days, players }: Playing, shrinks: boolean): Promise<number> {
  process.once('disconnect', () => process.exit());
  await warmUp();
  for (let seed = from; ; seed += players) {
    const plan = drawPlan(seed, { days });
    const outcome = await play(plan);
    const needed = outcome.broken === null || !shrinks ? plan : await shrink(plan, breaksLike(outcome.broken));
    const report: Report = {
      seed,
      events: outcome.events,
      virtualMs: outcome.virtualMs,
      met: [...outcome.met],
      broken: outcome.broken,
      needed: needed.happenings.map(({ id }) => id),
    };
    process.send?.(report);
  }
}

function breaksLike({ promise }: Broken): (plan: Plan) => Promise<boolean> {
  return async (plan) => {
    const outcome: Outcome = await play(plan);
    return outcome.broken?.promise === promise;
  };
}

async function playMany({ minutes = '2', from, first = false }: Options, { days, players }: Playing): Promise<number> {
  const firstSeed = from === undefined ? Date.now() % 1_000_000_000 : Number(from);
  const endMs = Date.now() + Number(minutes) * 60_000;
  process.stdout.write(`worlds of up to ${days} days from seed ${firstSeed} on, for ${minutes} minutes\n`);
  const reports: Report[] = [];
  let failed = 0;
  const done = Promise.withResolvers<void>();
  const started = Array.from({ length: players }, (_, index) => {
    const seeds = ['--from', String(firstSeed + index), '--days', String(days), '--players', String(players)];
    const player = fork(fileURLToPath(import.meta.url), first ? [...seeds, '--first'] : seeds);
    player.on('message', (report: Report) => {
      reports.push(report);
      if (report.broken === null) return;
      failed += 1;
      tell(report, days);
      if (first) done.resolve();
    });
    player.on('exit', (code, signal) => done.reject(new Error(`a player ended with ${code ?? signal}`)));
    return player;
  });
  const timer = setTimeout(done.resolve, Math.max(0, endMs - Date.now()));
  process.once('SIGINT', done.resolve);
  await done.promise.finally(() => {
    clearTimeout(timer);
    for (const player of started) player.kill('SIGKILL');
  });
  const unmet = summarize(reports, everyKind(days >= LONG_DAYS));
  if (unmet.length > 0) process.stdout.write(`never happened: ${unmet.join(', ')}\n`);
  return failed > 0 || (unmet.length > 0 && reports.length >= LONG_PLAY) ? 1 : 0;
}

function tell({ seed, broken, needed }: Report, days: number): void {
  const again = `npm run simulate -- --seed ${seed} --days ${days} --only ${needed.join(',')}`;
  process.stdout.write(`\nseed ${seed} at ${broken?.at}\n${broken?.detail}\n${again}\n`);
  appendFileSync(SEEDS_FILE, `${seed} ${days} ${needed.join(',') || '-'} # ${broken?.promise}\n`);
}

/** Prints what there was of each kind; returns the kinds that never happened. */
function summarize(reports: readonly Report[], kinds: readonly string[]): string[] {
  const met = new Map<string, number>();
  for (const report of reports) for (const [kind, count] of report.met) met.set(kind, (met.get(kind) ?? 0) + count);
  const events = reports.reduce((sum, report) => sum + report.events, 0);
  const years = reports.reduce((sum, report) => sum + report.virtualMs, 0) / (365 * 86_400_000);
  const broken = reports.filter((report) => report.broken !== null).length;
  process.stdout.write(`\n${reports.length} worlds, ${events} events, ${years.toFixed(1)} years, ${broken} broken\n`);
  for (const kind of kinds) process.stdout.write(`  ${kind.padEnd(36)} ${String(met.get(kind) ?? 0).padStart(8)}\n`);
  return kinds.filter((kind) => !met.has(kind));
}
