import type { Config } from '../config/types.ts';
import { sleep, systemClock } from '../core/clock.ts';
import { AppError, ConfigError, summarizeError, UsageError } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import { collectGarbage } from '../core/process/memory.ts';
import { thisProcess } from '../core/process/process-liveness.ts';
import { readPagesToken } from '../daemon/http/pages-token.ts';
import { createReload } from '../daemon/reload.ts';
import { startIdleWatch } from '../daemon/watches/idle-watch.ts';
import {
  type DaemonLock,
  type DaemonNotice,
  findRunningDaemon,
  lockForDaemon,
} from '../ledger/store/file/daemon-lock.ts';
import { localUrl } from '../net/local-address.ts';
import type { Context } from '../wiring/context.ts';
import { type CliCommand, type CliContext, EXIT, plainCommand, reportingCommand } from './shared/cli-context.ts';

/**
 * A stop may take this long. It must be below kill_timeout in ecosystem.config.cjs, after which pm2 kills the process.
 */
const STOP_DEADLINE_MS = 19_000;
/** The process is ended this long after everything was released, because a library's timer may keep it alive. */
const EXIT_DELAY_MS = 300;
/** A stop may take this long after the writer died. Nothing can be written any more. */
const DEAD_WRITER_DEADLINE_MS = 800;

export function daemonCommand(cli: CliContext): CliCommand {
  return plainCommand('daemon')
    .examples('usage-ledger daemon', 'npx pm2 start ecosystem.config.cjs')
    .action(async () => {
      const stop = listenForStop(cli);
      const reloads = listenForReload();
      try {
        await cli.withContext((context) => runDaemon(context, { stop, reloads, load: () => cli.loadConfig() }), {
          service: true,
        });
      } finally {
        reloads.end();
        stop.end();
      }
    });
}

interface StopRequest {
  readonly requested: Promise<void>;
  logTo(logger: Logger): void;
  /** Requests a stop; a second request ends the process at once. */
  request(cause: string, exitCode: number, deadlineMs?: number): void;
  /**
   * Stops listening for signals. The deadline of a requested stop still applies, because something may keep the process
   * alive.
   */
  end(): void;
}

/**
 * Listens for signals, even during the start. The first requests a stop. The second, or the deadline, ends the process.
 */
function listenForStop(cli: CliContext): StopRequest {
  const { promise, resolve } = Promise.withResolvers<void>();
  let logger: Logger | null = null;
  let isRequested = false;
  const request: StopRequest['request'] = (cause, exitCode, deadlineMs = STOP_DEADLINE_MS) => {
    if (isRequested) {
      logger?.warn({ cause }, 'stopping at once');
      process.exit(EXIT.failed);
    }
    isRequested = true;
    cli.exitCode = exitCode;
    logger?.info({ cause }, 'stopping');
    const endNow = (): void => {
      logger?.error('the stop took too long, ending now');
      process.exit(EXIT.failed);
    };
    systemClock.after(deadlineMs, endNow, { background: true });
    resolve();
  };
  const onSignal = (signal: NodeJS.Signals): void => request(signal, EXIT.done);
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  const logTo = (to: Logger) => {
    logger = to;
  };
  const end = (): void => {
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
    // A timer of BullMQ keeps the process alive for six seconds after a blocking read was interrupted.
    if (isRequested) systemClock.after(EXIT_DELAY_MS, () => process.exit(cli.exitCode), { background: true });
  };
  return { requested: promise, logTo, request, end };
}

interface ReloadSignals {
  /** Calls `reload` at each SIGHUP from now on, and immediately if a SIGHUP was received before. */
  onSignal(reload: () => Promise<void>): void;
  end(): void;
}

/**
 * Listens for SIGHUP, which would otherwise end the process. A SIGHUP is remembered until `onSignal` sets a handler.
 */
function listenForReload(): ReloadSignals {
  let handler: (() => Promise<void>) | null = null;
  let wasReceived = false;
  const receive = (): void => {
    wasReceived = true;
    void handler?.();
  };
  process.on('SIGHUP', receive);
  return {
    onSignal(reload) {
      handler = reload;
      if (wasReceived) void reload();
    },
    end: () => void process.off('SIGHUP', receive),
  };
}

interface DaemonRun {
  stop: StopRequest;
  reloads: ReloadSignals;
  load(): Promise<Config>;
}

async function runDaemon(context: Context, run: DaemonRun): Promise<void> {
  const { stop } = run;
  const { logger } = context;
  stop.logTo(logger);
  const onCrash = (error: unknown): void => {
    const stack = error instanceof Error ? error.stack : undefined;
    logger.fatal({ reason: summarizeError(error).message, stack }, 'unexpected error');
    stop.request('unexpected error', EXIT.failed);
  };
  process.on('uncaughtException', onCrash).on('unhandledRejection', onCrash);
  try {
    await serveLocked(context, run);
  } finally {
    process.off('uncaughtException', onCrash).off('unhandledRejection', onCrash);
  }
}

/** Runs the daemon while it holds the ledger's daemon lock. Returns at once if another daemon has the lock. */
async function serveLocked(context: Context, run: DaemonRun): Promise<void> {
  const { stop } = run;
  const abort = new AbortController();
  void stop.requested.then(() => abort.abort());
  const lock = await lockForDaemon(context.config.ledger, context.clock, abort.signal);
  if (lock === null) return;
  void stop.requested.then(() => lock.announceStop());
  try {
    await serveDaemon(context, run, { lock, signal: abort.signal });
  } finally {
    lock.release();
  }
}

async function serveDaemon(
  context: Context,
  { stop, reloads, load }: DaemonRun,
  { lock, signal }: { lock: DaemonLock; signal: AbortSignal },
): Promise<void> {
  const { logger } = context;
  void context.writerDeath.then(({ code, message, cause }) => {
    const stack = cause instanceof Error ? cause.stack : undefined;
    logger.fatal({ code, reason: message, stack }, "the ledger's writer has died");
    stop.request("the ledger's writer has died", EXIT.failed, DEAD_WRITER_DEADLINE_MS);
  });
  const { startWhenDiskHasRoom } = await import('../daemon/start-when-disk-has-room.ts');
  const daemon = await startWhenDiskHasRoom(context, signal);
  if (daemon === null) return;
  const reload = createReload({ context, daemon, load, lock });
  reloads.onSignal(reload.rerun);
  // With wait_ready, pm2 waits for this message before it reports a successful start.
  process.send?.('ready');
  const collect = async (): Promise<void> => {
    collectGarbage();
    await (await context.writer()).collectGarbage(undefined);
  };
  const idle = startIdleWatch({ collect, clock: context.clock, logger });
  await stop.requested;
  reloads.end();
  const idleStopped = idle.stop();
  await reload.waitUntilIdle();
  await daemon.stop();
  await idleStopped;
  await context.close();
  logger.info('stopped');
}

export function openCommand(cli: CliContext): CliCommand {
  return reportingCommand('open')
    .examples('usage-ledger open', 'xdg-open "$(usage-ledger open)"')
    .action(async () => {
      const { http } = await cli.loadConfig();
      if (http.port === 0)
        throw new UsageError('the pages are switched off', 'set http.port in the configuration and restart the daemon');
      const address = http.publicUrl ?? localUrl(http.host, http.port);
      const url = `${address}/?token=${encodeURIComponent(readPagesToken(http))}`;
      // Written without redaction: the token is the requested output.
      cli.io.stdout.write(cli.json ? `${JSON.stringify({ url })}\n` : `${url}\n`);
    });
}

const RELOAD_POLL_MS = 50;
/** A reload may take this long: the commands that print secrets run one after the other, up to ten seconds each. */
const RELOAD_TIMEOUT_MS = 60_000;

export function reloadCommand(cli: CliContext): CliCommand {
  return reportingCommand('reload')
    .examples('usage-ledger reload')
    .action(() => reload(cli));
}

/**
 * Sends the daemon a signal to reload. The daemon reads the configuration itself, with its own environment and
 * permissions.
 */
async function reload(cli: CliContext): Promise<void> {
  const { file, ledger } = await cli.loadConfig();
  const daemon = requireLocalDaemon(ledger.path);
  try {
    process.kill(daemon.pid, 'SIGHUP');
  } catch (cause) {
    const hint = 'run this as the user of the daemon, on the same machine';
    throw new AppError('daemon_not_reached', `cannot signal the daemon, process ${daemon.pid}`, { hint, cause });
  }
  const { refused, readAt, needsRestart } = await waitForReload(cli, ledger.path, daemon.configuration.reads);
  if (refused !== null) throw new ConfigError(file, [...refused.faults]);
  cli.printResult({ pid: daemon.pid, read_at: readAt, needs_restart: needsRestart }, [
    `The daemon, process ${daemon.pid}, uses the current configuration.`,
    needsRestart.length === 0 ? null : `Restart needed to apply: ${needsRestart.join(', ')}.`,
  ]);
}

function requireLocalDaemon(ledgerPath: string): DaemonNotice {
  const daemon = findRunningDaemon(ledgerPath);
  if (daemon === null) {
    const hint = 'start the daemon, which reads the configuration';
    throw new AppError('no_daemon', `no daemon is running for ${ledgerPath}`, { hint });
  }
  if (daemon.host !== thisProcess().host) {
    const hint = `run this on ${daemon.host}`;
    throw new AppError('no_daemon', `the daemon of ${ledgerPath} runs on ${daemon.host}`, { hint });
  }
  return daemon;
}

async function waitForReload(
  cli: CliContext,
  ledgerPath: string,
  before: number,
): Promise<DaemonNotice['configuration']> {
  const endMs = cli.clock.monotonic() + RELOAD_TIMEOUT_MS;
  while (cli.clock.monotonic() < endMs) {
    const { configuration } = requireLocalDaemon(ledgerPath);
    if (configuration.reads > before) return configuration;
    await sleep(cli.clock, RELOAD_POLL_MS);
  }
  throw new AppError('daemon_not_reached', 'the daemon did not read its configuration within a minute', {
    hint: 'check the log of the daemon',
  });
}
