// Runs a check of the documentation, as it stands there, on many statements in one process: `check-many.mjs SCRIPT`, with
// [[FILE, DIGEST], ...] on stdin; gives the exit code and the words of each as JSON.
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const [script] = process.argv.slice(2);
const ends = [];
const { log, error } = console;
for (const [index, argv] of JSON.parse(readFileSync(0, 'utf8')).entries()) {
  let said = '';
  console.log = (text) => (said += `${text}\n`);
  console.error = () => undefined;
  process.exitCode = 0;
  process.argv = [process.argv[0], script, ...argv];
  await import(`${pathToFileURL(script)}?${index}`);
  ends.push([process.exitCode, said]);
}
Object.assign(console, { log, error });
process.exitCode = 0;
console.log(JSON.stringify(ends));
