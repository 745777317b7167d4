import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, dirname, join } from 'node:path';
import { summarizeError } from '../../core/errors.ts';
import { LASTING_EXIT_CODES } from '../../core/process/exit-codes.ts';
import { groupOf, listOf } from '../../core/text/path.ts';
import { type Finding, fail, ok, warn } from './finding.ts';

/** The daemon takes up to 19 s to stop. */
const SHORTEST_KILL_TIMEOUT_MS = 20_000;

/** What pm2's file in this folder says of the daemon, and whether pm2 is there; nothing when there is no such file. */
export function checkPm2(cwd: string, env: NodeJS.ProcessEnv): Finding[] {
  const file = join(cwd, 'ecosystem.config.cjs');
  if (!existsSync(file)) return [];
  let apps: readonly unknown[];
  try {
    apps = listOf(groupOf(createRequire(file)(file)).apps);
  } catch (error) {
    return [fail('pm2', `${file} cannot be loaded: ${summarizeError(error).message}`, 'correct it')];
  }
  const ours = apps.map(groupOf).filter(({ name, script, args }) => {
    return JSON.stringify([name, script, args]).includes('usage-ledger');
  });
  if (ours.length === 0) return [ok('pm2', `${file} does not run usage-ledger`)];
  const findings = ours.flatMap(checkApp);
  if (isInstalled(cwd, env.PATH ?? '')) return findings;
  return [...findings, warn('pm2', 'pm2 is not installed', 'npm install pm2, or npm install --global pm2')];
}

/** `npx pm2` takes it from the folder or one above, else from PATH. */
function isInstalled(cwd: string, path: string): boolean {
  const above = dirname(cwd);
  if (existsSync(join(cwd, 'node_modules', '.bin', 'pm2'))) return true;
  if (above !== cwd) return isInstalled(above, path);
  return path.split(delimiter).some((folder) => folder !== '' && existsSync(join(folder, 'pm2')));
}

function checkApp(app: Record<PropertyKey, unknown>): Finding[] {
  const subject = typeof app.name === 'string' ? app.name : null;
  const findings: Finding[] = [];
  if (!(Number(app.kill_timeout) >= SHORTEST_KILL_TIMEOUT_MS)) {
    const message = 'kill_timeout is too short: pm2 kills the daemon before it has finished its jobs';
    findings.push(fail('pm2', message, `set kill_timeout to ${SHORTEST_KILL_TIMEOUT_MS} or more`, subject));
  }
  if (app.wait_ready !== true) {
    const message = 'wait_ready is not set: pm2 takes a start for a success that may fail yet';
    findings.push(fail('pm2', message, 'set wait_ready to true', subject));
  }
  if (app.treekill !== false) {
    const message = 'treekill is on: pm2 ends the private redis-server before the daemon';
    findings.push(fail('pm2', message, 'set treekill to false', subject));
  }
  const left = listOf(app.stop_exit_codes).map(Number);
  const lacking = LASTING_EXIT_CODES.filter((code) => !left.includes(code));
  if (lacking.length > 0) {
    const message = `stop_exit_codes lacks ${lacking.join(', ')}: pm2 starts the daemon again and again with a configuration that is wrong`;
    findings.push(warn('pm2', message, `set stop_exit_codes to [${LASTING_EXIT_CODES.join(', ')}]`, subject));
  }
  if (findings.length > 0) return findings;
  return [ok('pm2', 'kill_timeout, wait_ready, treekill and stop_exit_codes are right', subject)];
}
