import type { Command } from 'commander';
import { emptiedSettings } from '../../config/load.ts';
import type { Config, WorkspaceConfig } from '../../config/types.ts';
import { ConfigError, summarizeError } from '../../core/errors.ts';
import { counted } from '../../core/text/counted.ts';
import { inertText } from '../../core/text/inert-text.ts';
import type { Context } from '../../wiring/context.ts';
import { type CliContext, EXIT, examples, reportingCommand } from '../shared/cli-context.ts';
import { printProse, proseLines } from '../shared/prose.ts';
import { checkChannels, checkRoutes } from './check-channels.ts';
import { checkBackups, checkBuckets, checkExports } from './check-files.ts';
import {
  checkCheckpoints,
  checkCloses,
  checkDisk,
  checkEnded,
  checkLedger,
  checkSqlite,
  checkTimes,
} from './check-ledger.ts';
import { checkModes } from './check-modes.ts';
import { checkPm2 } from './check-pm2.ts';
import { checkPort } from './check-port.ts';
import { checkPublish } from './check-publish.ts';
import { checkRedis } from './check-redis.ts';
import { checkSchedule } from './check-schedule.ts';
import { checkService } from './check-service.ts';
import { type Finding, fail, ok, warn } from './finding.ts';
import { probeService } from './probe/probe.ts';
import { openTrial, type Trial } from './probe/trial.ts';

interface DoctorOptions {
  probe?: boolean;
}

export function doctorCommand(cli: CliContext): Command {
  return reportingCommand('doctor')
    .option('--probe', 'try on the service what the program takes for granted of it: some ten requests a workspace')
    .addHelpText('after', examples('usage-ledger doctor', 'usage-ledger doctor --json', 'usage-ledger doctor --probe'))
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
/** Below the check's name. */
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
