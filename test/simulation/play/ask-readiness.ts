import { readiness } from '../../../src/daemon/http/readiness.ts';
import type { RunningDaemon } from '../world/seat.ts';
import { ProcessDied } from '../world/statements.ts';

/** What `/readyz` says; null when the daemon dies while it is asked. */
export function askReadiness({ process, daemon }: RunningDaemon): ReturnType<typeof readiness> | null {
  try {
    const said = process.run(() => readiness(daemon.probe));
    return process.alive ? said : null;
  } catch (error) {
    if (isDeath(error)) return null;
    throw error;
  }
}

/** What a process that dies throws on its way. */
export function isDeath(reason: unknown): boolean {
  if (!(reason instanceof Error)) return false;
  return (
    reason instanceof ProcessDied ||
    reason.message.includes('is dead') ||
    reason.message.includes('connection is not open') ||
    isDeath(reason.cause)
  );
}
