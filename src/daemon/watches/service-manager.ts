import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { summarizeError } from '../../core/errors.ts';
import { type PeriodicTask, type PeriodicTaskOptions, startPeriodicTask } from '../../core/periodic-task.ts';

const run = promisify(execFile);
const NOTIFY_TIMEOUT_MS = 10_000;
/** So often within systemd's patience, that one lost message does no harm. */
const HEARTBEATS = 3;

interface ServiceManagerOptions extends Pick<PeriodicTaskOptions, 'clock' | 'logger'> {
  /** `NOTIFY_SOCKET` and `WATCHDOG_USEC`, as systemd gives them, and `PATH`. */
  env: NodeJS.ProcessEnv;
  /** Comes back when the ledger's writer can take work. */
  ping(): Promise<unknown>;
  /** What carries a word to systemd: its `systemd-notify` when absent. */
  send?(state: string): Promise<unknown>;
}

/** What systemd is told of the daemon. */
interface ServiceManager {
  /** The start is over. Heartbeats begin, if they are wanted. */
  ready(): Promise<void>;
  /** The stop has begun. */
  stopping(): Promise<void>;
}

/**
 * Tells systemd (`Type=notify`) that the daemon is ready, and in each third of `WatchdogSec` that it is alive: that its event
 * loop turns and its writer answers. Of a daemon that hangs it hears nothing, and starts it anew. Node cannot write to the
 * socket of systemd, whose own `systemd-notify` does. Null when no service manager wants to know.
 */
export function linkServiceManager(options: ServiceManagerOptions): ServiceManager | null {
  const { env, ping, clock, logger } = options;
  if (!env.NOTIFY_SOCKET) return null;
  const patienceMs = Number(env.WATCHDOG_USEC ?? 0) / 1000;
  let heartbeats: PeriodicTask | null = null;
  const send = options.send ?? ((state) => run('systemd-notify', [state], { env, timeout: NOTIFY_TIMEOUT_MS }));
  const tell = async (state: string): Promise<void> => {
    try {
      await send(state);
    } catch (error) {
      logger.warn({ reason: summarizeError(error).message }, 'systemd could not be told how the daemon is');
    }
  };
  return {
    async ready() {
      await tell('READY=1');
      if (!(patienceMs > 0)) return;
      heartbeats = startPeriodicTask({
        ...{ clock, logger, intervalMs: patienceMs / HEARTBEATS, atOnce: true, failed: 'the writer did not answer' },
        async work() {
          await ping();
          await tell('WATCHDOG=1');
        },
      });
    },
    async stopping() {
      await tell('STOPPING=1');
      await heartbeats?.stop();
    },
  };
}
