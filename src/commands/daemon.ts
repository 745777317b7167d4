import type { Config } from '../config/types.ts';
import { sleep, systemClock } from '../core/clock.ts';
import { AppError, ConfigError, summarizeError, UsageError } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import { localUrl } from '../core/net/public-address.ts';
import { collectGarbage } from '../core/process/memory.ts';
import { thisProcess } from '../core/process/process-liveness.ts';
import { readPagesToken } from '../daemon/http/pages-token.ts';
import { startIdleWatch } from '../daemon/idle-watch.ts';
import { createReload } from '../daemon/reload.ts';
import {
  type DaemonLock,
  type DaemonNotice,
  findRunningDaemon,
  lockForDaemon,
} from '../ledger/store/file/daemon-lock.ts';
import type { Context } from '../wiring/context.ts';
import { type CliCommand, type CliContext, EXIT, plainCommand, reportingCommand } from './shared/cli-context.ts';

/** A stop takes no longer than this, whatever hangs; below the kill_timeout in ecosystem.config.cjs. */
const STOP_DEADLINE_MS = 19_000;
/** All is released: what still holds the process then is a library's. */
const LINGER_MS = 300;
/** Without its writer a daemon can do nothing: what is left to stop has this long. */
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

interface Stop {
  readonly asked: Promise<void>;
  logTo(logger: Logger): void;
  /** Asks for one; if that has been done before, the process ends at once. */
  ask(cause: string, exitCode: number, deadlineMs?: number): void;
  /** Listens no longer. The deadline of a stop that was asked for stays: something may keep the process from ending. */
  end(): void;
}

/** From here on the first signal asks for a stop, also during the start; the second, or the deadline, ends the process. */
function listenForStop(cli: CliContext): Stop {
  const { promise, resolve } = Promise.withResolvers<void>();
  let logger: Logger | null = null;
  let asked = false;
  const ask: Stop['ask'] = (cause, exitCode, deadlineMs = STOP_DEADLINE_MS) => {
    if (asked) {
      logger?.warn({ cause }, 'stopping at once');
      process.exit(EXIT.failed);
    }
    asked = true;
    cli.exitCode = exitCode;
    logger?.info({ cause }, 'stopping');
    const giveUp = (): void => {
      logger?.error('the stop took too long, ending now');
      process.exit(EXIT.failed);
    };
    systemClock.after(deadlineMs, giveUp, { background: true });
    resolve();
  };
  const onSignal = (signal: NodeJS.Signals): void => ask(signal, EXIT.done);
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  const logTo = (to: Logger) => {
    logger = to;
  };
  const end = (): void => {
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
    // A timer of BullMQ's holds the process for six seconds when its blocking read was cut off.
    if (asked) systemClock.after(LINGER_MS, () => process.exit(cli.exitCode), { background: true });
  };
  return { asked: promise, logTo, ask, end };
}

interface Reloads {
  /** What is done at each SIGHUP from now on; at once if one has come before. */
  answerBy(reload: () => Promise<void>): void;
  end(): void;
}

/** From here on SIGHUP has the configuration read again, and ends nothing. */
function listenForReload(): Reloads {
  let answer: (() => Promise<void>) | null = null;
  let asked = false;
  const onSignal = (): void => {
    asked = true;
    void answer?.();
  };
  process.on('SIGHUP', onSignal);
  return {
    answerBy(reload) {
      answer = reload;
      if (asked) void reload();
    },
    end: () => void process.off('SIGHUP', onSignal),
  };
}

interface Run {
  stop: Stop;
  reloads: Reloads;
  load(): Promise<Config>;
}

async function runDaemon(context: Context, run: Run): Promise<void> {
  const { stop } = run;
  const { logger } = context;
  stop.logTo(logger);
  const onCrash = (error: unknown): void => {
    const stack = error instanceof Error ? error.stack : undefined;
    logger.fatal({ reason: summarizeError(error).message, stack }, 'unexpected error');
    stop.ask('unexpected error', EXIT.failed);
  };
  process.on('uncaughtException', onCrash).on('unhandledRejection', onCrash);
  try {
    await serveAlone(context, run);
  } finally {
    process.off('uncaughtException', onCrash).off('unhandledRejection', onCrash);
  }
}

/** One daemon has a ledger; a second one ends here. */
async function serveAlone(context: Context, run: Run): Promise<void> {
  const { stop } = run;
  const asked = new AbortController();
  void stop.asked.then(() => asked.abort());
  const lock = await lockForDaemon(context.config.ledger, context.clock, asked.signal);
  if (lock === null) return;
  void stop.asked.then(() => lock.stopping());
  try {
    await serve(context, run, { lock, signal: asked.signal });
  } finally {
    lock.release();
  }
}

async function serve(
  context: Context,
  { stop, reloads, load }: Run,
  { lock, signal }: { lock: DaemonLock; signal: AbortSignal },
): Promise<void> {
  const { asked, ask } = stop;
  const { logger } = context;
  void context.writerDeath.then(({ code, message, cause }) => {
    const stack = cause instanceof Error ? cause.stack : undefined;
    logger.fatal({ code, reason: message, stack }, "the ledger's writer has died");
    ask("the ledger's writer has died", EXIT.failed, DEAD_WRITER_DEADLINE_MS);
  });
  const { startWhenDiskHasRoom } = await import('../daemon/start-when-disk-has-room.ts');
  const daemon = await startWhenDiskHasRoom(context, signal);
  if (daemon === null) return;
  const reload = createReload({ context, daemon, load, lock });
  reloads.answerBy(reload.rerun);
  // pm2 waits for this word (wait_ready) before it calls the start a success.
  process.send?.('ready');
  const collect = async (): Promise<void> => {
    collectGarbage();
    await (await context.writer()).collectGarbage(undefined);
  };
  const idle = startIdleWatch({ collect, clock: context.clock, logger });
  await asked;
  reloads.end();
  await idle.stop();
  await reload.waitUntilIdle();
  await daemon.stop();
  await context.close();
  logger.info('stopped');
}

export function openCommand(cli: CliContext): CliCommand {
  return reportingCommand('open')
    .examples('usage-ledger open', 'xdg-open "$(usage-ledger open)"')
    .action(async () => {
      const { http } = await cli.loadConfig();
      if (http.port === 0)
        throw new UsageError('the pages are switched off', 'set http.port in the configuration, and restart');
      const address = http.publicUrl ?? localUrl(http.host, http.port);
      const url = `${address}/?token=${encodeURIComponent(readPagesToken(http))}`;
      // Not by what takes secrets out: this one is asked for.
      cli.io.stdout.write(cli.json ? `${JSON.stringify({ url })}\n` : `${url}\n`);
    });
}

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
  const daemon = requireLocalDaemon(ledger.path);
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

function requireLocalDaemon(ledgerPath: string): DaemonNotice {
  const daemon = findRunningDaemon(ledgerPath);
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
    const { configuration } = requireLocalDaemon(ledgerPath);
    if (configuration.reads > before) return configuration;
    await sleep(cli.clock, LOOK_MS);
  }
  throw new AppError('daemon_not_reached', 'the daemon has not read its configuration within a minute', {
    hint: 'see its log',
  });
}
