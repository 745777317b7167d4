import { cpus } from 'node:os';
import { parseArgs } from 'node:util';

export const HELP = `Usage: npm run bench -- [options]

Measures a whole sync (proof, staging, apply, entries, digest chain, alert rules, outbox) against the floor: fetching and
checking the same pages and doing nothing with them. Everything runs on this machine over loopback. The parts start,
peers and daemon run the built command; sizes, card and latency load its sources as TypeScript, which takes about 90 MB
more. Prints medians and ratios and holds them against the bars in bench/bars.mjs.

  --quick             under a minute: fewer rounds, up to 1,000,000 records, bars are indicative
  --records <list>    sizes of the listing, such as 100000,1000000 (full: 10000,100000,1000000,3000000)
  --rounds <number>   measurements of each kind, of which the median counts (full: 5, quick: 2)
  --only <list>       of sizes, card, latency, peers, start, daemon
  --out <file>        keeps everything that was measured as JSON
  --root <folder>     measures another checkout of this project, as it is built there
  --help              shows this

Exit codes: 0 done and, unless --quick, no bar failed; 1 the bench itself failed; 2 wrong usage; 4 a bar failed;
130 interrupted.
`;

const PARTS = ['sizes', 'card', 'latency', 'peers', 'start', 'daemon'];

/** Reads the command line. Throws an Error with a plain message when it makes no sense. */
export function parseOptions(argv) {
  const { values } = parseArgs({
    args: argv,
    options: {
      quick: { type: 'boolean', default: false },
      records: { type: 'string' },
      rounds: { type: 'string' },
      only: { type: 'string' },
      out: { type: 'string' },
      root: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  const { quick, help, out = null, root = null } = values;
  const parts = values.only?.split(',') ?? PARTS.filter((part) => !quick || !['card', 'daemon'].includes(part));
  const unknown = parts.find((part) => !PARTS.includes(part));
  if (unknown !== undefined) throw new Error(`--only knows ${PARTS.join(', ')}, not ${JSON.stringify(unknown)}`);
  return {
    quick,
    help,
    out,
    root,
    parts,
    sizes: wholeNumbers(
      values.records ?? (quick ? '10000,100000,1000000' : '10000,100000,1000000,3000000'),
      '--records',
    ),
    rounds: wholeNumbers(values.rounds ?? (quick ? '2' : '5'), '--rounds')[0],
    /** Rounds above a million records, and in quick mode from there on, are fewer: they take long and vary little. */
    largeRounds: values.rounds === undefined ? (quick ? 1 : 3) : Number(values.rounds),
    largeFrom: quick ? 100_000 : 3_000_000,
    latencyRecords: quick ? 40_000 : 100_000,
    /** One request after the other takes minutes: left out when there is no time. */
    latencySequential: !quick,
    latencyMs: 80,
    cardRecords: quick ? 100_000 : 1_000_000,
    cardRounds: quick ? 1 : 3,
    peerSizes: quick ? [2_500] : [2_500, 100_000, 1_000_000],
    peerRounds: quick ? 1 : 3,
    startRecords: 2_500,
    startRounds: quick ? 3 : 15,
    idleSeconds: quick ? 5 : 20,
    concurrency: 16,
    cores: cpus().length,
  };
}

function wholeNumbers(text, option) {
  const numbers = text.split(',').map(Number);
  const wrong = numbers.some((number) => !Number.isSafeInteger(number) || number < 1);
  if (wrong) throw new Error(`${option} wants whole numbers from 1, not ${JSON.stringify(text)}`);
  return numbers;
}
