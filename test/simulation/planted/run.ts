import { loadavg } from 'node:os';
import { PLANTED } from './planted.ts';
import { search } from './search.ts';

/** Plants each defect alone, or those that are named; `SECONDS` bounds each search, `PLAYERS` says how many processes search. */
const wanted = process.argv.slice(2);

let missed = 0;
for (const planted of PLANTED) {
  if (wanted.length > 0 && !wanted.includes(planted.name)) continue;
  const { seconds, worlds, by } = search(planted);
  if (by === null) missed += 1;
  const took = `${String(seconds).padStart(4)} s  ${String(worlds).padStart(4)} worlds  load ${loadavg()[0]?.toFixed(1)}`;
  process.stdout.write(`${by === null ? 'MISSED' : 'found '} ${planted.name.padEnd(30)} ${took}  ${by ?? ''}\n`);
}
process.exitCode = missed === 0 ? 0 : 1;
