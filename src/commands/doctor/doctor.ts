import { tryMailServer } from '../../alerts/channels/email-channel.ts';
import { tryConnection, UnreachableError } from '../../alerts/channels/outbound/try-connection.ts';
import { disabledChannels } from '../../alerts/notify/channel-states.ts';
import { type DeadLetter, deadLetters } from '../../alerts/notify/replay.ts';
import { channelsOf, routesOf, unheardRules } from '../../alerts/track/routes.ts';
import type { ChannelConfig } from '../../config/channel-types.ts';
import { emptiedSettings } from '../../config/load.ts';
import type { Config, WorkspaceConfig } from '../../config/types.ts';
import { timesAfter } from '../../core/cron.ts';
import { ConfigError, summarizeError } from '../../core/errors.ts';
import { inertText } from '../../core/text/inert-text.ts';
import { counted } from '../../core/text/words.ts';
import { requestsOfRuns } from '../../ledger/journal/runs/run-facts.ts';
import { formatInteger } from '../../reports/formats/columns.ts';
import { UnauthorizedError } from '../../usage-api/errors.ts';
import type { Context } from '../../wiring/context.ts';
import {
  type CliCommand,
  type CliContext,
  EXIT,
  printProse,
  proseLines,
  reportingCommand,
} from '../shared/cli-context.ts';
import { checkOutlets, checkPort, checkPublish, checkRedis } from './check-daemon.ts';
import { checkBackups, checkBuckets, checkExports, checkModes } from './check-files.ts';
import {
  askLedger,
  checkCheckpoints,
  checkCloses,
  checkDisk,
  checkEnded,
  checkLedger,
  checkSqlite,
  checkTimes,
} from './check-ledger.ts';
import { checkPm2 } from './check-pm2.ts';
import { checkSecrets } from './check-secrets.ts';
import { broken, type Finding, fail, ok, warn } from './finding.ts';
import { openTrial, probeService, type Trial } from './probe/probe.ts';

interface DoctorOptions {
  probe?: boolean;
}

export function doctorCommand(cli: CliContext): CliCommand {
  return reportingCommand('doctor')
    .option('--probe', 'try what a service must answer, by some ten requests a workspace')
    .examples('usage-ledger doctor', 'usage-ledger doctor --probe')
    .action((options: DoctorOptions) => doctor(cli, options));
}

async function doctor(cli: CliContext, options: DoctorOptions): Promise<void> {
  const config = await loadConfig(cli);
  if (config instanceof ConfigError) {
    // The rest depends on the configuration; what does not is told at once.
    const { cwd, env } = cli.io;
    const rest = await examine([
      ['sqlite', checkSqlite],
      ['pm2', () => checkPm2(cwd, env)],
    ]);
    tell(cli, [...configFindings(config), ...rest]);
    cli.exitCode = EXIT.usage;
    return;
  }
  const findings = await cli.withContext((context) => examineAll(cli, context, options.probe === true), { config });
  tell(cli, findings);
  if (findings.some(({ status }) => status === 'fail')) cli.exitCode = EXIT.fault;
}

async function loadConfig(cli: CliContext): Promise<Config | ConfigError> {
  try {
    return await cli.loadConfig();
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
}

function configFindings({ faults }: ConfigError): Finding[] {
  return faults.map(({ path, message, hint }) => fail('configuration', message, hint, path));
}

async function examineAll(cli: CliContext, { config, clock, redact }: Context, probe: boolean): Promise<Finding[]> {
  const { env, cwd } = cli.io;
  const { path } = config.ledger;
  const source = config.file ?? 'the environment';
  const workspaces = counted(config.workspaces.length, 'workspace');
  const findings = await examine([
    ...config.workspaces.map((workspace): Check => {
      const trial = openTrial(workspace, { clock, proxy: config.proxy, redact });
      return ['service', () => askService(workspace, trial, probe)];
    }),
    ['channel', () => checkChannels(config)],
    ['routes', () => checkRoutes(config)],
    ['variables', () => checkVariables(config, env)],
    ['secrets', () => checkSecrets(config)],
    ['schedule', () => checkSchedule(config, clock.now())],
    ['ledger', () => checkLedger(config.ledger)],
    ['checkpoints', () => checkCheckpoints(config.ledger)],
    ['ended', () => checkEnded(config)],
    ['closes', () => checkCloses(config.ledger)],
    ['clock', () => checkTimes(path, clock.now())],
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
    ['pm2', () => checkPm2(cwd, env)],
  ]);
  return [ok('configuration', `${source}: ${workspaces}`), ...findings];
}

async function askService(workspace: WorkspaceConfig, trial: Trial, probe: boolean): Promise<Finding[]> {
  try {
    const findings = await checkService(workspace, trial);
    return probe ? [...findings, ...(await probeService(workspace.id, trial))] : findings;
  } finally {
    await trial.close();
  }
}

/** Variables without a value where the configuration can do without one, such as the secret that would sign a webhook. */
function checkVariables({ file }: Config, env: NodeJS.ProcessEnv): Finding[] {
  if (file === null) return [];
  return emptiedSettings(file, env).map(({ path, names }) =>
    warn(
      'variables',
      `${names.join(' and ')} is empty, so ${path} counts as not set`,
      'give it a value in the environment or in the .env beside the configuration, or remove the setting',
      path,
    ),
  );
}

type Check = readonly [name: string, run: () => Finding[] | Promise<Finding[]>];

/** Runs the checks side by side. One that breaks is a finding itself and does not keep the others from being told. */
async function examine(checks: readonly Check[]): Promise<Finding[]> {
  const results = checks.map(async ([name, run]) => {
    try {
      return await run();
    } catch (error) {
      const { message, hint } = summarizeError(error);
      return [fail(name, `the check itself failed: ${message}`, hint ?? 'correct what the message names')];
    }
  });
  return (await Promise.all(results)).flat();
}

const WORDS = { ok: 'ok  ', warn: 'warn', fail: 'FAIL' } as const;
const INDENT = 6;
const COLOURS = { ok: 32, warn: 33, fail: 31 } as const;

function tell(cli: CliContext, findings: readonly Finding[]): void {
  if (cli.json) {
    cli.printJson({ ok: findings.every(({ status }) => status !== 'fail'), checks: findings });
    return;
  }
  const { width } = cli.tableOptions;
  for (const { check, subject, status, message, remedy } of findings) {
    const about = subject === null ? check : `${check} ${inertText(subject)}`;
    const [first = '', ...rest] = proseLines(`${WORDS[status]}  ${about}: ${inertText(message)}`, width, INDENT);
    const painted = `\x1b[${COLOURS[status]}m${WORDS[status]}\x1b[39m${first.slice(WORDS[status].length)}`;
    for (const line of [cli.colours ? painted : first, ...rest]) cli.print(line);
    if (remedy !== null) printProse(cli, `${' '.repeat(INDENT)}${inertText(remedy)}`);
  }
}

const NOTABLE_SKEW_MS = 30_000;
const HARMFUL_SKEW_MS = 120_000;

async function checkService({ id, baseUrl, keys }: WorkspaceConfig, trial: Trial): Promise<Finding[]> {
  try {
    const { page, latencyMs, skewMs } = await trial.ask({ page: 1, perPage: 1 });
    const records = formatInteger(page.total_records);
    const answered = ok('service', `${baseUrl} answered in ${latencyMs} ms; it has ${records} records`, id);
    const key = keys.length === 1 ? [] : [judgeKey(keys, trial.keyInUse(), id)];
    return skewMs === null ? [answered, ...key] : [answered, ...key, judgeSkew(skewMs, id)];
  } catch (error) {
    const refused = broken('service', error, 'check base_url, and whether the service can be reached', id);
    if (!(error instanceof UnauthorizedError) || error.clockSkewMs === null) return [refused];
    return [refused, judgeSkew(error.clockSkewMs, id)];
  }
}

function judgeKey(keys: WorkspaceConfig['keys'], inUse: string | null, workspaceId: string): Finding {
  const refused = keys.findIndex(({ apiKeyId }) => apiKeyId === inUse);
  const message = `${inUse} is in use, ${refused + 1} of ${keys.length}`;
  if (refused <= 0) return ok('key', message, workspaceId);
  return warn('key', `${message}: the service refuses those before it`, 'take those out of `keys:`', workspaceId);
}

function judgeSkew(skewMs: number, workspaceId: string): Finding {
  const distanceMs = Math.abs(skewMs);
  const seconds = formatInteger(Math.round(distanceMs / 1000));
  const side = skewMs < 0 ? 'behind' : 'ahead of';
  const message = `this machine's clock is ${seconds} s ${side} the service's`;
  const remedy = 'set the clock and keep it right with NTP: signatures carry a time';
  if (distanceMs > HARMFUL_SKEW_MS) return fail('clock', message, remedy, workspaceId);
  if (distanceMs > NOTABLE_SKEW_MS) return warn('clock', message, remedy, workspaceId);
  return ok('clock', "agrees with the service's", workspaceId);
}

/**
 * Whether the receiver of each channel answers, the channel is not disabled and has lost nothing. No message is sent: to a
 * webhook no byte after the connection, to a mail server only the login.
 */
export async function checkChannels({ alerts, ledger, proxy }: Config): Promise<Finding[]> {
  const dead = askLedger(ledger.path, deadLetters, []);
  const disabledOnes = askLedger(ledger.path, disabledChannels, []);
  const disabled = new Map(disabledOnes.map((channel) => [channel.name, channel]));
  const findings = await Promise.all(
    alerts.channels.map(async (channel): Promise<Finding> => {
      const state = disabled.get(channel.name);
      if (state === undefined) return checkReceiver(channel, proxy);
      const message = `disabled since ${state.disabledAt}: ${state.reason}`;
      return warn('channel', message, 'correct its address, then run `usage-ledger alerts replay`', channel.name);
    }),
  );
  const lost = [...Map.groupBy(dead, ({ channel }) => channel)].map(([channel, letters]) =>
    deadFinding(channel, letters),
  );
  return [...findings, ...lost];
}

function deadFinding(channel: string, letters: readonly DeadLetter[]): Finding {
  const count = counted(letters.length, 'message was given up', 'messages were given up');
  const message = `${count}, the last one because: ${letters.at(-1)?.last_error ?? 'it was refused'}`;
  return fail('channel', message, '`usage-ledger alerts replay` lists them, `--all-dead` sends them again', channel);
}

async function checkReceiver(channel: ChannelConfig, proxy: Config['proxy']): Promise<Finding> {
  const { name } = channel;
  if (channel.type === 'log') return ok('channel', 'writes to the log', name);
  // The path of an address is often a secret.
  const place = channel.type === 'email' ? `${channel.host}:${channel.port}` : new URL(channel.url).host;
  try {
    if (channel.type === 'email') await tryMailServer(channel);
    else {
      const { allowPrivate, timeoutMs, ca } = channel;
      await tryConnection(new URL(channel.url), { policy: { allowPrivate }, timeoutMs, ca, proxy });
    }
    return ok('channel', `${place} answers; \`usage-ledger alerts test ${name}\` sends a message`, name);
  } catch (error) {
    const { message, hint = 'correct what the message names' } = summarizeError(error);
    return fail('channel', error instanceof UnreachableError ? `${place}: ${message}` : message, hint, name);
  }
}

function checkRoutes(config: Config): Finding[] {
  const routes = routesOf(channelsOf(config), config.http.publicUrl);
  const { workspaces } = config;
  const found = Map.groupBy(
    workspaces.flatMap(({ id }) => unheardRules(routes, id).map((unheard) => ({ id, ...unheard }))),
    ({ severity, rules }) => `${severity} ${rules.join(', ')}`,
  );
  return [...found].map(([what, where]) => {
    const all = where.length === workspaces.length;
    return warn(
      'routes',
      `no channel is told of ${what}${all ? '' : ` of ${where.map(({ id }) => id).join(', ')}`}`,
      'add them to the `severities`, `rules` and `workspaces` of a channel, unless nobody has to know',
    );
  });
}

/** Of the slots to come, so many show the usual pause between two. */
const LOOKED_AT_SLOTS = 50;
/** A listing is read twice as a rule, and one that nobody has read yet has a page at least. */
const LEAST_REQUESTS = 2;
const NAMED_WORKSPACES = 3;
const REMEDY =
  'give the largest ones a slower cron, or raise requests_per_second if the service allows it: slots that come too soon are left out';

interface Demand {
  workspace: WorkspaceConfig;
  perSecond: number;
}

/**
 * Whether the crons ask for more requests than the rates allow, by what the latest runs took: of each host name of the service together, and
 * of each workspace that has a lower rate of its own.
 */
function checkSchedule({ workspaces, ledger }: Config, nowMs: number): Finding[] {
  const known = askLedger(ledger.path, requestsOfRuns, new Map<string, number>());
  const demands = workspaces.map((workspace): Demand => {
    const requests = Math.max(LEAST_REQUESTS, known.get(workspace.id) ?? 0);
    return { workspace, perSecond: (requests * 1000) / usualPauseMs(workspace.cron, nowMs) };
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

function tooDense(host: string, wanted: number, rate: number, demands: readonly Demand[]): Finding {
  const largest = demands.toSorted((a, b) => b.perSecond - a.perSecond).slice(0, NAMED_WORKSPACES);
  const names = largest.map(({ workspace }) => inertText(workspace.id)).join(', ');
  const who = demands.length === 1 ? 'workspace' : `${demands.length} workspaces, the largest of them`;
  const message = `the crons ask ${host} for ${wanted.toFixed(1)} requests a second, and ${rate} are allowed (${who} ${names})`;
  return warn('schedule', message, REMEDY, host);
}

/** The middle one of the next pauses, in milliseconds: a night without slots says nothing about the day. */
function usualPauseMs(cron: string, nowMs: number): number {
  const slots = timesAfter(cron, nowMs);
  const times = Array.from({ length: LOOKED_AT_SLOTS }, () => slots.next().value ?? nowMs);
  const pauses = times.slice(1).map((time, index) => time - (times[index] ?? time));
  return pauses.toSorted((a, b) => a - b)[Math.floor(pauses.length / 2)] ?? Number.POSITIVE_INFINITY;
}
