import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';

/**
 * Whether a process with this id runs on this machine, whoever owns it. One that has ended but was not reaped by its
 * parent (no init in a container) does not. The id alone says nothing of *which* process it is: systems use ids again.
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
    // No /proc on this system, or gone between the two looks: the next look tells.
    return true;
  }
}

/**
 * What tells a process from every other that has had its id: the boot of the system and the tick at which it began. Null
 * when there is no such process, or the system has no /proc.
 */
export function processStart(pid: number): string | null {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name, in brackets, may hold anything; the start is the 20th field after it.
    const started = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
    return started === undefined ? null : `${boot}:${started}`;
  } catch {
    return null;
  }
}

/** What tells a process from every other on any machine; `start`: see `processStart`. */
export interface ProcessIdentity {
  host: string;
  pid: number;
  start: string | null;
}

export function thisProcess(): ProcessIdentity {
  return { host: hostname(), pid: process.pid, start: processStart(process.pid) };
}

/** Whether the process runs that had this id and this `processStart`; by the id alone where one of them is not known. */
export function isStillRunning(pid: number, start: string | null): boolean {
  if (!isProcessRunning(pid)) return false;
  const now = processStart(pid);
  return start === null || now === null || now === start;
}
