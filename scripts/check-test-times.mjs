// Fails when a file of the fast tier takes more than five seconds on its own. Reads the durations of the last `npm test` that ran
// with CI set, then runs each file that looked slow once more, alone: beside others on busy cores any file looks slow.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const MAX_SECONDS = 5;
/** A file counts as slow when it is slow this often: one run may meet a busy moment of the machine. */
const MAX_RUNS = 3;
/** Fast files that may take longer, each with its reason. */
const EXCEPTIONS = new Map([]);

const root = fileURLToPath(new URL('..', import.meta.url));
const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');

const suspects = readTimes(join(root, 'node_modules', '.cache', 'test-times.json')).filter(
  ({ file, seconds }) => seconds > MAX_SECONDS && !EXCEPTIONS.has(file),
);
const slow = suspects
  .map(({ file }) => ({ file, seconds: fastestAlone(file) }))
  .filter(({ seconds }) => seconds > MAX_SECONDS);
for (const { file, seconds } of slow) {
  process.stderr.write(
    `${file} takes ${seconds.toFixed(1)} s on its own: move its slow tests to ${file.replace('.test.ts', '.slow.test.ts')}, or make them faster\n`,
  );
}
process.stdout.write(`test times: ${suspects.length} files run again alone, ${slow.length} over ${MAX_SECONDS} s\n`);
process.exitCode = slow.length === 0 ? 0 : 1;

/** Returns the seconds of each file in a report of vitest. Throws when there is none: then nothing was measured. */
function readTimes(report) {
  const { testResults } = JSON.parse(readFileSync(report, 'utf8'));
  if (testResults.length === 0) throw new Error(`${report} lists no test file: run \`CI=1 npm test\` first`);
  return testResults.map(({ name, startTime, endTime }) => ({
    file: relative(root, name),
    seconds: (endTime - startTime) / 1000,
  }));
}

/** Returns the seconds of the fastest run; stops at the first that is fast enough. */
function fastestAlone(file) {
  let seconds = timeAlone(file);
  for (let run = 1; run < MAX_RUNS && seconds > MAX_SECONDS; run += 1) seconds = Math.min(seconds, timeAlone(file));
  return seconds;
}

function timeAlone(file) {
  const folder = mkdtempSync(join(tmpdir(), 'test-times-'));
  try {
    const report = join(folder, 'times.json');
    const args = [vitest, 'run', '--project', 'fast', '--reporter=json', `--outputFile=${report}`, file];
    const { status, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' });
    if (status !== 0) throw new Error(`${file} fails when it runs alone\n${stderr}`);
    return Math.max(...readTimes(report).map(({ seconds }) => seconds));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
