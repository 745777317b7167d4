// Defects that somebody might write into what sends usage on: the simulation has to find each.
//   npm run simulate:planted   SECONDS, PLAYERS
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root, search } from './search.ts';

/** What stands in a source, and what is put in its place. */
const PLANTED: { name: string; file: string; was: string; becomes: string }[] = [
  {
    name: 'the cursor moves before the answer',
    file: 'src/ledger/journal/outlets/outlet-book.ts',
    was: 'const flight = { flightTo, flightSince: row.flightSince ?? at };',
    becomes: 'const flight = { cursor: flightTo };',
  },
  {
    name: 'the cursor moves whatever the answer is',
    file: 'src/outlets/sweep.ts',
    was: 'const upTo = stoppedAt == null ? Number(last.entryId) : stoppedAt.entryId - 1;',
    becomes: 'const upTo = Number(last.entryId);',
  },
  {
    name: 'the key is made of the time',
    file: 'src/outlets/events.ts',
    was: `\${entry.digest.slice(0, 12)}\``,
    becomes: `\${nowMs}\``,
  },
  {
    name: 'the clock says which month it is',
    file: 'src/outlets/events.ts',
    was: 'const timeMs = timeOf(entry, nowMs);',
    becomes: 'const timeMs = nowMs;',
  },
];

for (const { name, file, was, becomes } of PLANTED) {
  const source = readFileSync(join(root, file), 'utf8');
  if (source.split(was).length !== 2) throw new Error(`${file} does not have once: ${was}`);
  const found = search(
    file,
    source.replace(was, () => becomes),
  );
  if (found === null) process.exitCode = 1;
  process.stdout.write(`${name.padEnd(40)} ${found ?? 'MISSED'}\n`);
}
