import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';

/**
 * Reports whether a process with this id is running, as any user. A zombie is not running: it has ended, but its parent
 * has not reaped it, as in a container without an init process. The id does not identify a process for ever, because
 * systems reuse ids.
 */
export function isProcessRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false;
  }
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    // Either the system has no /proc, or the process ended between the two checks. If it ended, the next call returns
    // false.
    return true;
  }
}

/**
 * Returns a value that distinguishes a process from earlier and later ones with the same id: the boot id and the clock
 * tick at which the process started. Returns null if there is no such process or no /proc.
 */
export function readProcessStart(pid: number): string | null {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The process name in brackets may contain any character. The start time is the 20th field after the closing
    // bracket.
    const started = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
    return started === undefined ? null : `${boot}:${started}`;
  } catch {
    return null;
  }
}

/** Identifies a process across machines. `start` is the result of `readProcessStart`. */
export interface ProcessIdentity {
  host: string;
  pid: number;
  start: string | null;
}

export function thisProcess(): ProcessIdentity {
  return { host: hostname(), pid: process.pid, start: readProcessStart(process.pid) };
}

/**
 * Reports whether the process with this id is still running. `start` is the result of `readProcessStart` for it, which
 * tells it from a later process with the same id. If the stored or the current start is unknown, only the id is
 * compared.
 */
export function isStillRunning(pid: number, start: string | null): boolean {
  if (!isProcessRunning(pid)) return false;
  const now = readProcessStart(pid);
  return start === null || now === null || now === start;
}
