// Plants each defect of a list alone, or those that are named, and lets the simulation look for it.
//   npm run simulate:planted [-- NAME...]   SECONDS, PLAYERS
import { PLANTED, plant } from './planted/all.ts';
import { root, search } from './search.ts';

const wanted = process.argv.slice(2);
const chosen = PLANTED.filter(({ name }) => wanted.length === 0 || wanted.includes(name));
let found = 0;
for (const planted of chosen) {
  const beganMs = performance.now();
  const by = search(planted.file, plant(planted, root), planted.days);
  if (by !== null) found += 1;
  const seconds = Math.round((performance.now() - beganMs) / 1000);
  process.stdout.write(`${planted.name.padEnd(40)} ${String(seconds).padStart(4)} s  ${by ?? 'MISSED'}\n`);
}
process.stdout.write(`${found} of ${chosen.length} found\n`);
process.exitCode = found === chosen.length ? 0 : 1;
