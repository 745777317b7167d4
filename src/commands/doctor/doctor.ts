import { emptiedSettings } from '../../config/load.ts';
import type { Config, WorkspaceConfig } from '../../config/types.ts';
import { ConfigError, summarizeError } from '../../core/errors.ts';
import { inertText } from '../../core/text/inert-text.ts';
import { counted } from '../../core/text/words.ts';
import { formatInteger } from '../../reports/formats/columns.ts';
import { UnauthorizedError } from '../../usage-api/errors.ts';
import type { Context } from '../../wiring/context.ts';
import { type CliCommand, type CliContext, EXIT, reportingCommand } from '../shared/cli-context.ts';
import { printProse, proseLines } from '../shared/prose.ts';
import { checkChannels, checkRoutes } from './check-channels.ts';
import { checkPm2, checkPort, checkPublish, checkRedis } from './check-daemon.ts';
import { checkBackups, checkBuckets, checkExports, checkModes } from './check-files.ts';
import {
  checkCheckpoints,
  checkCloses,
  checkDisk,
  checkEnded,
  checkLedger,
  checkSqlite,
  checkTimes,
} from './check-ledger.ts';
import { checkSchedule } from './check-schedule.ts';
import { type Finding, fail, ok, warn } from './finding.ts';
import { probeService } from './probe/probe.ts';
import { openTrial, type Trial } from './probe/trial.ts';

interface DoctorOptions {
  probe?: boolean;
}

export function doctorCommand(cli: CliContext): CliCommand {
  return reportingCommand('doctor')
    .option('--probe', 'try on the service what the program takes for granted of it: some ten requests a workspace')
    .examples('usage-ledger doctor', 'usage-ledger doctor --json', 'usage-ledger doctor --probe')
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

async function examineAll(cli: CliContext, { config, clock }: Context, probe: boolean): Promise<Finding[]> {
  const { env, cwd } = cli.io;
  const { path } = config.ledger;
  const source = config.file ?? 'the environment';
  const workspaces = counted(config.workspaces.length, 'workspace');
  const findings = await examine([
    ...config.workspaces.map((workspace): Check => {
      const trial = openTrial(workspace, { clock, proxy: config.proxy });
      return ['service', () => askService(workspace, trial, probe)];
    }),
    ['channel', () => checkChannels(config)],
    ['routes', () => checkRoutes(config)],
    ['variables', () => checkVariables(config, env)],
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

/** One signed request: do the credentials work, how fast is the service, and do the clocks agree. */
async function checkService({ id, baseUrl }: WorkspaceConfig, trial: Trial): Promise<Finding[]> {
  try {
    const { page, latencyMs, skewMs } = await trial.ask({ page: 1, perPage: 1 });
    const records = formatInteger(page.total_records);
    const answered = ok('service', `${baseUrl} answered in ${latencyMs} ms; it has ${records} records`, id);
    return skewMs === null ? [answered] : [answered, judgeSkew(skewMs, id)];
  } catch (error) {
    const { message, hint } = summarizeError(error);
    const refused = fail('service', message, hint ?? 'check base_url, and whether the service can be reached', id);
    if (!(error instanceof UnauthorizedError) || error.clockSkewMs === null) return [refused];
    return [refused, judgeSkew(error.clockSkewMs, id)];
  }
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
