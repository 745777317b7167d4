import type { WallClock } from '../core/clock.ts';
import { summarizeError } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import type { Pruned } from '../writer/commands/ledger-commands.ts';

const INTERVAL_MS = 3_600_000;
/** Transactions of one tick, each a few milliseconds long: what is left over waits for the next tick. */
const STEPS_A_TICK = 40;
const DAY_MS = 86_400_000;

export interface RetentionOptions {
  /** Forgets some of what is older. */
  prune(beforeMs: number): Promise<Pruned>;
  retentionDays: number;
  clock: WallClock;
  logger: Logger;
}

export interface Retention {
  /** One tick; resolves when it has done its share. Never rejects. */
  tick(): Promise<void>;
  stop(): Promise<void>;
}

/** Forgets every hour, and at the start, what the ledger need not keep for longer than `retentionDays`. */
export function startRetention({ prune, retentionDays, clock, logger }: RetentionOptions): Retention {
  let running: Promise<void> | null = null;
  let stopped = false;
  const forget = async (): Promise<void> => {
    const total = { certificates: 0, runs: 0, notifications: 0 };
    try {
      for (let step = 0; step < STEPS_A_TICK && !stopped; step += 1) {
        const { more, ...gone } = await prune(clock.now() - retentionDays * DAY_MS);
        total.certificates += gone.certificates;
        total.runs += gone.runs;
        total.notifications += gone.notifications;
        if (!more) break;
      }
    } catch (error) {
      const { code, message } = summarizeError(error);
      logger.warn({ code, reason: message }, 'what the ledger need not keep could not be forgotten');
    }
    if (Object.values(total).some((count) => count > 0)) logger.info({ ...total, retentionDays }, 'ledger pruned');
  };
  const tick = (): Promise<void> => {
    running ??= forget().finally(() => {
      running = null;
    });
    return running;
  };
  const timer = setInterval(() => void tick(), INTERVAL_MS);
  timer.unref();
  void tick();
  return {
    tick,
    async stop() {
      stopped = true;
      clearInterval(timer);
      await running;
    },
  };
}
