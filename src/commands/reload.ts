import { sleep } from '../core/clock.ts';
import { AppError, ConfigError } from '../core/errors.ts';
import { thisProcess } from '../core/process/process-liveness.ts';
import { type DaemonNotice, daemonOf } from '../ledger/store/file/daemon-lock.ts';
import { type CliCommand, type CliContext, reportingCommand } from './shared/cli-context.ts';

const LOOK_MS = 50;
/** A secret's command may take ten seconds, and each of several is asked in turn. */
const PATIENCE_MS = 60_000;

export function reloadCommand(cli: CliContext): CliCommand {
  return reportingCommand('reload')
    .examples('usage-ledger reload')
    .action(() => reload(cli));
}

/** The daemon reads the configuration itself, as it would at a start: with its environment, and what it may read. */
async function reload(cli: CliContext): Promise<void> {
  const { file, ledger } = await cli.loadConfig();
  const daemon = runningDaemon(ledger.path);
  try {
    process.kill(daemon.pid, 'SIGHUP');
  } catch (cause) {
    const hint = 'call this as the user that the daemon runs as, and where it runs';
    throw new AppError('daemon_not_reached', `the daemon, process ${daemon.pid}, cannot be told`, { hint, cause });
  }
  const { refused, readAt, needsRestart } = await answerOf(cli, ledger.path, daemon.configuration.reads);
  if (refused !== null) throw new ConfigError(file, [...refused.faults]);
  cli.answer({ pid: daemon.pid, read_at: readAt, needs_restart: needsRestart }, [
    `The daemon, process ${daemon.pid}, works by the configuration as it stands.`,
    needsRestart.length === 0 ? null : `From its next start on: ${needsRestart.join(', ')}.`,
  ]);
}

function runningDaemon(ledgerPath: string): DaemonNotice {
  const daemon = daemonOf(ledgerPath);
  if (daemon === null) {
    const hint = 'start it: it reads the configuration then';
    throw new AppError('no_daemon', `no daemon of ${ledgerPath} runs`, { hint });
  }
  if (daemon.host !== thisProcess().host) {
    const hint = `call this on ${daemon.host}`;
    throw new AppError('no_daemon', `the daemon of ${ledgerPath} runs on ${daemon.host}`, { hint });
  }
  return daemon;
}

async function answerOf(cli: CliContext, ledgerPath: string, before: number): Promise<DaemonNotice['configuration']> {
  const endMs = cli.clock.monotonic() + PATIENCE_MS;
  while (cli.clock.monotonic() < endMs) {
    const { configuration } = runningDaemon(ledgerPath);
    if (configuration.reads > before) return configuration;
    await sleep(cli.clock, LOOK_MS);
  }
  throw new AppError('daemon_not_reached', 'the daemon has not read its configuration within a minute', {
    hint: 'see its log',
  });
}
