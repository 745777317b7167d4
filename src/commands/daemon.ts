import type { Command } from 'commander';
import { summarizeError } from '../core/errors.ts';
import { startDaemon } from '../daemon/daemon.ts';
import type { Context } from '../wiring/context.ts';
import { type CliContext, EXIT, examples, plainCommand } from './shared/cli-context.ts';

/** A stop takes no longer than this, whatever hangs; below the kill_timeout in ecosystem.config.cjs. */
const STOP_DEADLINE_MS = 19_000;
/** Without its writer a daemon can do nothing: what is left to stop has this long. */
const DEAD_WRITER_DEADLINE_MS = 800;

export function daemonCommand(cli: CliContext): Command {
  return plainCommand('daemon')
    .addHelpText(
      'after',
      examples(
        'usage-ledger daemon',
        'usage-ledger daemon --config /etc/usage-ledger.yml',
        'npx pm2 start ecosystem.config.cjs',
      ),
    )
    .action(() => cli.withContext((context) => runDaemon(cli, context), { service: true }));
}

/** Runs until the first signal, then drains; the second signal, or the deadline, ends the process at once. */
async function runDaemon(cli: CliContext, context: Context): Promise<void> {
  const { logger } = context;
  const stopping = new Promise<void>((resolve) => {
    let asked = false;
    const ask = (cause: string, exitCode: number, deadlineMs = STOP_DEADLINE_MS): void => {
      if (asked) {
        logger.warn({ cause }, 'stopping at once');
        process.exit(EXIT.failed);
      }
      asked = true;
      cli.exitCode = exitCode;
      logger.info({ cause }, 'stopping');
      const giveUp = (): void => {
        logger.error('the stop took too long, ending now');
        process.exit(EXIT.failed);
      };
      context.clock.after(deadlineMs, giveUp, { background: true });
      resolve();
    };
    process.on('SIGINT', () => ask('SIGINT', EXIT.done)).on('SIGTERM', () => ask('SIGTERM', EXIT.done));
    const onCrash = (error: unknown): void => {
      const stack = error instanceof Error ? error.stack : undefined;
      logger.fatal({ reason: summarizeError(error).message, stack }, 'unexpected error');
      ask('unexpected error', EXIT.failed);
    };
    void context.writerDeath.then(({ code, message, cause }) => {
      const stack = cause instanceof Error ? cause.stack : undefined;
      logger.fatal({ code, reason: message, stack }, "the ledger's writer has died");
      ask("the ledger's writer has died", EXIT.failed, DEAD_WRITER_DEADLINE_MS);
    });
    process.on('uncaughtException', onCrash).on('unhandledRejection', onCrash);
  });
  const daemon = await startDaemon(context);
  // pm2 waits for this word (wait_ready) before it calls the start a success.
  process.send?.('ready');
  await stopping;
  await daemon.stop();
  await context.close();
  logger.info('stopped');
  // pm2 listens on this channel for its own ends, which keeps a process of Node 24 alive.
  if (process.connected) process.disconnect();
}
