import type { Config } from '../config/types.ts';
import { ConfigError } from '../core/errors.ts';
import { inertText } from '../core/text/inert-text.ts';
import { examineInvalidConfig, runDoctorChecks } from '../operations/doctor/examine.ts';
import type { DoctorFinding } from '../operations/doctor/finding.ts';
import {
  type CliCommand,
  type CliContext,
  EXIT,
  printProse,
  proseLines,
  reportingCommand,
} from './shared/cli-context.ts';

interface DoctorOptions {
  probe?: boolean;
}

export function doctorCommand(cli: CliContext): CliCommand {
  return reportingCommand('doctor')
    .option('--probe', 'test the service itself with about ten requests per workspace')
    .examples('usage-ledger doctor', 'usage-ledger doctor --probe')
    .action((options: DoctorOptions) => doctor(cli, options));
}

async function doctor(cli: CliContext, { probe = false }: DoctorOptions): Promise<void> {
  const { env, cwd } = cli.io;
  const config = await loadConfigOrError(cli);
  if (config instanceof ConfigError) {
    printFindings(cli, await examineInvalidConfig(config, { env, cwd }));
    cli.exitCode = EXIT.usage;
    return;
  }
  const findings = await cli.withContext((context) => runDoctorChecks(context, { env, cwd, probe }), { config });
  printFindings(cli, findings);
  if (findings.some(({ status }) => status === 'fail')) cli.exitCode = EXIT.fault;
}

async function loadConfigOrError(cli: CliContext): Promise<Config | ConfigError> {
  try {
    return await cli.loadConfig();
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
}

const STATUS_LABELS = { ok: 'ok  ', warn: 'warn', fail: 'FAIL' } as const;
const FINDING_INDENT = 6;
const STATUS_COLOURS = { ok: 32, warn: 33, fail: 31 } as const;

function printFindings(cli: CliContext, findings: readonly DoctorFinding[]): void {
  if (cli.json) {
    cli.printJson({ ok: findings.every(({ status }) => status !== 'fail'), checks: findings });
    return;
  }
  const { width } = cli.tableOptions;
  for (const { check, subject, status, message, remedy } of findings) {
    const label = subject === null ? check : `${check} ${inertText(subject)}`;
    const [first = '', ...rest] = proseLines(
      `${STATUS_LABELS[status]}  ${label}: ${inertText(message)}`,
      width,
      FINDING_INDENT,
    );
    const painted = `\x1b[${STATUS_COLOURS[status]}m${STATUS_LABELS[status]}\x1b[39m${first.slice(STATUS_LABELS[status].length)}`;
    for (const line of [cli.colours ? painted : first, ...rest]) cli.print(line);
    if (remedy !== null) printProse(cli, `${' '.repeat(FINDING_INDENT)}${inertText(remedy)}`);
  }
}
