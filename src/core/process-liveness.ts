import { readFileSync } from 'node:fs';

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
