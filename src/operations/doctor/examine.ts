import { channelsOf, toRoutes } from '../../alerts/pipeline/route.ts';
import { findUnroutedRules } from '../../alerts/pipeline/unrouted-rules.ts';
import { emptiedSettings } from '../../config/load.ts';
import type { Config, WorkspaceConfig } from '../../config/types.ts';
import { type CronSchedule, timesAfter } from '../../core/cron.ts';
import { type ConfigError, summarizeError } from '../../core/errors.ts';
import { inertText } from '../../core/text/inert-text.ts';
import { counted } from '../../core/text/words.ts';
import { requestsOfLatestRuns } from '../../ledger/journal/runs/run-facts.ts';
import { formatInteger } from '../../reports/formats/columns.ts';
import { UnauthorizedError } from '../../usage-api/errors.ts';
import type { Context } from '../../wiring/context.ts';
import { checkChannels } from './check-channels.ts';
import { checkOutlets, checkPort, checkPublish, checkRedis } from './check-daemon.ts';
import { checkBackups, checkBuckets, checkExports, checkModes } from './check-files.ts';
import {
  checkCheckpoints,
  checkCloses,
  checkDisk,
  checkEndedWorkspaces,
  checkLedger,
  checkSqlite,
  checkStoredTimes,
  queryLedger,
} from './check-ledger.ts';
import { checkPm2 } from './check-pm2.ts';
import { checkSecrets } from './check-secrets.ts';
import { checkSignIn } from './check-sign-in.ts';
import { type DoctorFinding, fail, failedWith, ok, warn } from './finding.ts';
import { openTrial, probeService, type Trial } from './probe/probe.ts';

/** What the checks read besides the configuration. */
interface Surroundings {
  env: NodeJS.ProcessEnv;
  /** The folder of the configuration. */
  cwd: string;
}

/** Runs the checks that need no configuration, and reports the mistakes in the invalid configuration. */
export async function examineInvalidConfig(error: ConfigError, { env, cwd }: Surroundings): Promise<DoctorFinding[]> {
  const rest = await runChecks([
    ['sqlite', checkSqlite],
    ['pm2', () => checkPm2(cwd, env)],
  ]);
  return [...configFindings(error), ...rest];
}

function configFindings({ faults }: ConfigError): DoctorFinding[] {
  return faults.map(({ path, message, hint }) => fail('configuration', message, hint, path));
}

/**
 * Checks the configuration, the services, the ledger, its files, Redis and pm2. With `probe`, also tests each service
 * with about ten requests. The daemon runs these checks in a separate process, because a setting may name a folder on a
 * mount that hangs.
 */
export async function runDoctorChecks(
  { config, clock, redact }: Pick<Context, 'config' | 'clock' | 'redact'>,
  { env, cwd, probe }: Surroundings & { probe: boolean },
): Promise<DoctorFinding[]> {
  const { path } = config.ledger;
  const source = config.file ?? 'the environment';
  const workspaces = counted(config.workspaces.length, 'workspace');
  const findings = await runChecks([
    ...config.workspaces.map((workspace): DoctorCheck => {
      const trial = openTrial(workspace, { clock, proxy: config.proxy, redact });
      return ['service', () => checkWorkspace(workspace, trial, probe)];
    }),
    ['channel', () => checkChannels(config, clock)],
    ['routes', () => checkRoutes(config)],
    ['variables', () => checkVariables(config, env)],
    ['secrets', () => checkSecrets(config)],
    ['schedule', () => checkSchedule(config, clock.now())],
    ['ledger', () => checkLedger(config.ledger)],
    ['checkpoints', () => checkCheckpoints(config.ledger)],
    ['ended', () => checkEndedWorkspaces(config)],
    ['closes', () => checkCloses(config.ledger)],
    ['clock', () => checkStoredTimes(path, clock.now())],
    ['sqlite', checkSqlite],
    ['modes', () => checkModes(config, cwd)],
    ['backup', () => checkBackups(config)],
    ['exports', () => checkExports(config, clock.now())],
    ['bucket', () => checkBuckets(config, clock)],
    ['disk', () => checkDisk(path)],
    ['redis', () => checkRedis(config, env)],
    ['publish', () => checkPublish(config, clock.now())],
    ['outlets', () => checkOutlets(config, clock)],
    ['http', () => checkPort(config.http, clock)],
    ['sign-in', () => checkSignIn(config, clock)],
    ['pm2', () => checkPm2(cwd, env)],
  ]);
  return [ok('configuration', `${source}: ${workspaces}`), ...findings];
}

async function checkWorkspace(workspace: WorkspaceConfig, trial: Trial, probe: boolean): Promise<DoctorFinding[]> {
  try {
    const findings = await checkService(workspace, trial);
    return probe ? [...findings, ...(await probeService(workspace.id, trial))] : findings;
  } finally {
    await trial.close();
  }
}

/**
 * Warns about environment variables that the configuration uses but that are empty: an optional setting, such as a
 * signing secret, is then silently not set.
 */
function checkVariables({ file }: Config, env: NodeJS.ProcessEnv): DoctorFinding[] {
  if (file === null) return [];
  return emptiedSettings(file, env).map(({ path, names }) =>
    warn(
      'variables',
      `${names.join(' and ')} is empty, so ${path} is not set`,
      'set it in the environment or in the .env next to the configuration, or remove the setting',
      path,
    ),
  );
}

type DoctorCheck = readonly [name: string, run: () => DoctorFinding[] | Promise<DoctorFinding[]>];

/**
 * Runs the checks concurrently. If a check throws, the error becomes a failed finding and the other checks continue.
 */
async function runChecks(checks: readonly DoctorCheck[]): Promise<DoctorFinding[]> {
  const results = checks.map(async ([name, run]) => {
    try {
      return await run();
    } catch (error) {
      const { message, hint } = summarizeError(error);
      return [fail(name, `the check itself failed: ${message}`, hint ?? 'fix what the message names')];
    }
  });
  return (await Promise.all(results)).flat();
}

const MAX_OK_SKEW_MS = 30_000;
const MAX_SIGNING_SKEW_MS = 120_000;

async function checkService({ id, baseUrl, keys }: WorkspaceConfig, trial: Trial): Promise<DoctorFinding[]> {
  try {
    const { page, latencyMs, skewMs } = await trial.ask({ page: 1, perPage: 1 });
    const records = formatInteger(page.total_records);
    const reachable = ok('service', `${baseUrl} answered in ${latencyMs} ms; ${records} records`, id);
    const key = keys.length === 1 ? [] : [keyFinding(keys, trial.keyInUse(), id)];
    return skewMs === null ? [reachable, ...key] : [reachable, ...key, skewFinding(skewMs, id)];
  } catch (error) {
    const failure = failedWith('service', error, 'check base_url and the network path to the service', id);
    if (!(error instanceof UnauthorizedError) || error.clockSkewMs === null) return [failure];
    return [failure, skewFinding(error.clockSkewMs, id)];
  }
}

function keyFinding(keys: WorkspaceConfig['keys'], inUse: string | null, workspaceId: string): DoctorFinding {
  const position = keys.findIndex(({ apiKeyId }) => apiKeyId === inUse);
  const message = `${inUse} is in use, ${position + 1} of ${keys.length}`;
  if (position <= 0) return ok('key', message, workspaceId);
  return warn('key', `${message}: the service rejects the keys before it`, 'remove those from `keys:`', workspaceId);
}

function skewFinding(skewMs: number, workspaceId: string): DoctorFinding {
  const distanceMs = Math.abs(skewMs);
  const seconds = formatInteger(Math.round(distanceMs / 1000));
  const side = skewMs < 0 ? 'behind' : 'ahead of';
  const message = `this machine's clock is ${seconds} s ${side} the service's`;
  const remedy = 'set the clock and keep it synchronized with NTP: signed requests carry the time';
  if (distanceMs > MAX_SIGNING_SKEW_MS) return fail('clock', message, remedy, workspaceId);
  if (distanceMs > MAX_OK_SKEW_MS) return warn('clock', message, remedy, workspaceId);
  return ok('clock', "agrees with the service's", workspaceId);
}

function checkRoutes(config: Config): DoctorFinding[] {
  const routes = toRoutes(channelsOf(config), config.http.publicUrl);
  const { workspaces } = config;
  const found = Map.groupBy(
    workspaces.flatMap(({ id }) => findUnroutedRules(routes, id).map((unrouted) => ({ id, ...unrouted }))),
    ({ severity, rules }) => `${severity} ${rules.join(', ')}`,
  );
  return [...found].map(([what, where]) => {
    const all = where.length === workspaces.length;
    return warn(
      'routes',
      `no channel receives ${what}${all ? '' : ` in ${where.map(({ id }) => id).join(', ')}`}`,
      'add them to the `severities`, `rules` and `workspaces` of a channel, unless this is intended',
    );
  });
}

/** The usual interval of a cron schedule is the median of the intervals between this many future slots. */
const CRON_SAMPLE_SLOTS = 50;
/** The minimum number of requests per run: a listing has at least one page and is read twice. */
const MIN_REQUESTS_PER_RUN = 2;
const MAX_NAMED_DEMANDS = 3;
const SCHEDULE_REMEDY =
  'give the largest workspaces a slower cron, or raise requests_per_second if the service allows it: slots that come too soon are skipped';

interface Demand {
  workspace: WorkspaceConfig;
  perSecond: number;
}

/**
 * Warns if the schedules need more requests per second than `requests_per_second` allows. The number of requests is
 * estimated from the latest runs. All workspaces of a host are checked together, and each workspace is checked alone
 * against its own limit.
 */
function checkSchedule({ workspaces, ledger }: Config, nowMs: number): DoctorFinding[] {
  const known = queryLedger(ledger.path, requestsOfLatestRuns, new Map<string, number>());
  const demands = workspaces.map((workspace): Demand => {
    const requests = Math.max(MIN_REQUESTS_PER_RUN, known.get(workspace.id) ?? 0);
    return { workspace, perSecond: (requests * 1000) / usualIntervalMs(workspace, nowMs) };
  });
  const byHost = Map.groupBy(demands, ({ workspace }) => new URL(workspace.baseUrl).host);
  return [...byHost].flatMap(([host, sharing]) => {
    const rate = Math.max(...sharing.map(({ workspace }) => workspace.requestsPerSecond));
    const wanted = sharing.reduce((sum, { perSecond }) => sum + perSecond, 0);
    if (wanted > rate) return [tooDense(host, wanted, rate, sharing)];
    return sharing
      .filter(({ workspace, perSecond }) => perSecond > workspace.requestsPerSecond)
      .map((one) => tooDense(host, one.perSecond, one.workspace.requestsPerSecond, [one]));
  });
}

function tooDense(host: string, wanted: number, rate: number, demands: readonly Demand[]): DoctorFinding {
  const largest = demands.toSorted((a, b) => b.perSecond - a.perSecond).slice(0, MAX_NAMED_DEMANDS);
  const names = largest.map(({ workspace }) => inertText(workspace.id)).join(', ');
  const who = demands.length === 1 ? 'workspace' : `${demands.length} workspaces, the largest of them`;
  const message = `the crons need ${wanted.toFixed(1)} requests a second from ${host}; ${rate} are allowed (${who} ${names})`;
  return warn('schedule', message, SCHEDULE_REMEDY, host);
}

/**
 * Returns the median interval between future slots, in milliseconds. Unlike a mean, the median is not changed by a
 * night without slots.
 */
function usualIntervalMs(schedule: CronSchedule, nowMs: number): number {
  const slots = timesAfter(schedule, nowMs);
  const times = Array.from({ length: CRON_SAMPLE_SLOTS }, () => slots.next().value ?? nowMs);
  const intervals = times.slice(1).map((time, index) => time - (times[index] ?? time));
  return intervals.toSorted((a, b) => a - b)[Math.floor(intervals.length / 2)] ?? Number.POSITIVE_INFINITY;
}
