import { schedule } from 'node-cron';
import type { Logger } from '../core/logger.ts';
import { tickExpressions } from './slots.ts';

export interface TickOptions {
  /** A cron expression in UTC. */
  cron: string;
  logger: Logger;
  /** Called at each time that the expression names, which is milliseconds since the epoch. */
  tick(slotMs: number): Promise<void>;
  /** Called when some were left out, as by a process that was blocked. */
  missed(): void;
}

/** Begins the ticks of an expression; returns what ends them, which does not wait for one under way. */
export type StartTicks = (options: TickOptions) => () => Promise<void>;

/** The ticks of node-cron. */
export const startCronTicks: StartTicks = ({ cron, logger, tick, missed }) => {
  const tasks = tickExpressions(cron).map((expression) => {
    const quiet = (message: string | Error): void => logger.debug({ expression, reason: String(message) }, 'node-cron');
    const call = ({ date }: { date: Date }): Promise<void> => tick(Math.floor(date.getTime() / 1000) * 1000);
    const task = schedule(expression, call, {
      timezone: 'UTC',
      name: expression,
      logger: { info: quiet, warn: quiet, error: quiet, debug: quiet },
    });
    // node-cron does not make up for them.
    task.on('execution:missed', missed);
    return task;
  });
  return async () => {
    await Promise.all(tasks.map((task) => task.destroy()));
  };
};
