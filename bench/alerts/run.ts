import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { medianOf } from './rivals.ts';
import type { Score } from './score.ts';

const HELP = `Usage: npm run bench:alerts -- [--seeds 1,2,3] [--unused 101,102,103]

Plays years of tenants of twelve curves with what was done to some of them, and holds the alerts of the program against
those of simple rules on the same readings. Prints a table for the seeds that development used and one for those that it did not.
`;

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1,2,3' },
    unused: { type: 'string', default: '101,102,103' },
    help: { type: 'boolean', default: false },
  },
});
const run = promisify(execFile);

if (values.help) process.stdout.write(HELP);
else {
  for (const [title, seeds] of [
    ['Seeds that development used', values.seeds],
    ['Seeds that it did not use', values.unused],
  ] as const) {
    const years: Score[][] = [];
    for (const seed of seeds.split(',').filter(Boolean)) {
      const script = join(import.meta.dirname, 'year-process.ts');
      const { stdout } = await run(process.execPath, [script, seed], { maxBuffer: 1e8 });
      years.push(JSON.parse(stdout) as Score[]);
      process.stderr.write(`seed ${seed} is played\n`);
    }
    if (years.length > 0) process.stdout.write(`${title} (${seeds}):\n\n${tableOf(years)}\n\n`);
  }
}

/** The years added up, a row for each way of telling. */
function tableOf(years: readonly Score[][]): string {
  const names = years[0]?.map(({ name }) => name) ?? [];
  const rows = names.map((name) => {
    const own = years.flatMap((scores) => scores.filter((score) => score.name === name));
    const sum = (of: (score: Score) => number) => own.reduce((total, score) => total + of(score), 0);
    const leads = own.flatMap((score) => score.leads);
    const lead = leads.length === 0 ? '-' : medianOf(leads).toFixed(1);
    const cells = [
      share(
        sum((s) => s.true),
        sum((s) => s.told),
      ),
      share(
        sum((s) => s.before),
        sum((s) => s.jumps),
      ),
      lead,
    ];
    return [name, ...cells, (sum((s) => s.messages) / sum((s) => s.tenantDays)).toFixed(2)];
  });
  const head = ['', 'true', 'told before it happened', 'lead, median days', 'messages a day and 100 tenants'];
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function share(hits: number, of: number): string {
  return of === 0 ? '-' : `${Math.round((hits / of) * 100)}% of ${of}`;
}
