import { execFile } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { NO_RESTART_EXIT_CODES } from '../../config/exit-codes.ts';
import { summarizeError } from '../../core/errors.ts';
import { isProcessRunning } from '../../core/process/process-liveness.ts';
import { asList, asMapping } from '../../core/text/path.ts';
import { findOnPath } from './check-daemon.ts';
import { type DoctorFinding, fail, ok, warn } from './finding.ts';

/** The daemon takes up to 19 s to stop. pm2 must not kill it earlier. */
const MIN_KILL_TIMEOUT_MS = 20_000;

/** Checks the file ecosystem.config.cjs in this folder, if it exists, and the processes of a running pm2. */
export async function checkPm2(cwd: string, env: NodeJS.ProcessEnv): Promise<DoctorFinding[]> {
  const watched = await watchedProcesses(cwd, env);
  return [...checkFile(cwd, env), ...watched.map((name) => watchFinding('pm2 is watching the running daemon', name))];
}

function checkFile(cwd: string, env: NodeJS.ProcessEnv): DoctorFinding[] {
  const file = join(cwd, 'ecosystem.config.cjs');
  if (!existsSync(file)) return [];
  let apps: readonly unknown[];
  try {
    apps = asList(asMapping(createRequire(file)(file)).apps);
  } catch (error) {
    return [fail('pm2', `${file} cannot be loaded: ${summarizeError(error).message}`, 'fix the file')];
  }
  const daemonApps = apps.map(asMapping).filter(({ name, script, args }) => {
    return JSON.stringify([name, script, args]).includes('usage-ledger');
  });
  if (daemonApps.length === 0) return [ok('pm2', `${file} does not run usage-ledger`)];
  const findings = [...daemonApps.flatMap(checkApp), ...checkPm2Home(env)];
  if (findPm2(cwd, env.PATH ?? '') !== null) return findings;
  return [...findings, warn('pm2', 'pm2 is not installed', 'run `npm install pm2` or `npm install --global pm2`')];
}

/**
 * Warns if other users can read pm2's folder: `pm2 save` writes the environment with its secrets to a file there that
 * everybody can read.
 */
function checkPm2Home(env: NodeJS.ProcessEnv): DoctorFinding[] {
  const folder = pm2Home(env);
  const mode = statSync(folder, { throwIfNoEntry: false })?.mode ?? 0;
  if ((mode & 0o077) === 0) return [];
  const message = `other users can read ${folder}, where pm2 keeps the environment and the logs`;
  return [warn('pm2', message, `run \`chmod 700 ${folder}\``)];
}

function pm2Home({ HOME = '', PM2_HOME: folder = join(HOME, '.pm2') }: NodeJS.ProcessEnv): string {
  return folder;
}

/**
 * Returns the path of the pm2 that `npx pm2` would run: from `node_modules` in this folder or in a folder above it,
 * otherwise from PATH.
 */
function findPm2(cwd: string, path: string): string | null {
  const local = join(cwd, 'node_modules', '.bin', 'pm2');
  const above = dirname(cwd);
  if (existsSync(local)) return local;
  return above === cwd ? findOnPath('pm2', path) : findPm2(above, path);
}

const JLIST_TIMEOUT_MS = 10_000;
const JLIST_MAX_BYTES = 16 * 1024 * 1024;

/**
 * Returns the names of the usage-ledger processes that a running pm2 restarts at each file change. If pm2 is not
 * running, it is not started.
 */
async function watchedProcesses(cwd: string, env: NodeJS.ProcessEnv): Promise<string[]> {
  const home = pm2Home(env);
  const program = findPm2(cwd, env.PATH ?? '');
  if (program === null || !isRunning(join(home, 'pm2.pid'))) return [];
  try {
    const options = { env: { ...env, PM2_HOME: home }, timeout: JLIST_TIMEOUT_MS, maxBuffer: JLIST_MAX_BYTES };
    const { stdout } = await promisify(execFile)(program, ['jlist'], options);
    const listed = asList(JSON.parse(stdout.slice(stdout.indexOf('[{')))).map(asMapping);
    return listed.flatMap(({ name, pm2_env: settings }) => {
      const { watch, pm_exec_path: script } = asMapping(settings);
      const isOurs = JSON.stringify([name, script]).includes('usage-ledger');
      return isOurs && isWatchOn(watch) ? [String(name)] : [];
    });
  } catch {
    // If pm2 does not answer or runs no process, there is nothing to report about the daemon.
    return [];
  }
}

function isRunning(pidFile: string): boolean {
  if (!existsSync(pidFile)) return false;
  const pid = Number(readFileSync(pidFile, 'utf8'));
  return Number.isInteger(pid) && pid > 0 && isProcessRunning(pid);
}

/**
 * Reports whether pm2 watches files for changes. The setting `watch` is true, a path, a list of paths, or a text from
 * an environment variable.
 */
function isWatchOn(watch: unknown): boolean {
  return Array.isArray(watch) ? watch.length > 0 : Boolean(watch) && watch !== 'false';
}

function watchFinding(what: string, subject: string | null): DoctorFinding {
  return warn(
    'pm2',
    `${what}: pm2 restarts the daemon whenever a file below its folder changes`,
    'set watch to false, then `npx pm2 delete usage-ledger && npx pm2 start ecosystem.config.cjs`',
    subject,
  );
}

function checkApp(app: Record<PropertyKey, unknown>): DoctorFinding[] {
  const subject = typeof app.name === 'string' ? app.name : null;
  const findings: DoctorFinding[] = [];
  if (!(Number(app.kill_timeout) >= MIN_KILL_TIMEOUT_MS)) {
    const message = 'kill_timeout is too short: pm2 kills the daemon before it has finished its jobs';
    findings.push(fail('pm2', message, `set kill_timeout to ${MIN_KILL_TIMEOUT_MS} or more`, subject));
  }
  if (app.wait_ready !== true) {
    const message = 'wait_ready is not set: pm2 reports success before the daemon has started';
    findings.push(fail('pm2', message, 'set wait_ready to true', subject));
  }
  if (app.treekill !== false) {
    const message = 'treekill is on: pm2 stops the private redis-server before the daemon';
    findings.push(fail('pm2', message, 'set treekill to false', subject));
  }
  const listed = asList(app.stop_exit_codes).map(Number);
  const missing = NO_RESTART_EXIT_CODES.filter((code) => !listed.includes(code));
  if (missing.length > 0) {
    const message = `stop_exit_codes lacks ${missing.join(', ')}: pm2 keeps restarting a daemon whose configuration is invalid`;
    findings.push(warn('pm2', message, `set stop_exit_codes to [${NO_RESTART_EXIT_CODES.join(', ')}]`, subject));
  }
  if (isWatchOn(app.watch)) findings.push(watchFinding('watch is on', subject));
  if (findings.length > 0) return findings;
  return [ok('pm2', 'kill_timeout, wait_ready, treekill, stop_exit_codes and watch are correct', subject)];
}
