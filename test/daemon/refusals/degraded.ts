import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import { CLI } from '../../support/daemon-process.ts';
import { eventually } from '../../support/eventually.ts';
import { measureAll, type RefusalCell, type RefusalRow, refusalTable } from './refusal-harness.ts';

const RECOVERY_MS = 150_000;

/** Runs a command of the program in a daemon's folder; what it printed. */
export async function runCommand(folder: string, ...args: string[]): Promise<string> {
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [CLI, ...args], { cwd: folder });
  return stdout + stderr;
}

const recoveries: { name: string; seconds: number }[] = [];

/** Waits, after a grant, until the daemon has used the dependency again, and keeps how long that took. */
export async function recovered(name: string, isUsed: () => void | Promise<void>): Promise<void> {
  const began = performance.now();
  await eventually(isUsed, RECOVERY_MS);
  recoveries.push({ name, seconds: (performance.now() - began) / 1000 });
}

/** Measures the rows, prints what was measured, and holds each cell against the bars. */
export async function expectBars(rows: readonly RefusalRow[], more: (cell: RefusalCell) => void = () => undefined) {
  const cells = await measureAll(rows, Number(process.env.REFUSAL_CONCURRENCY ?? 3));
  const used = recoveries.map(({ name, seconds }) => `${name}: used again ${seconds.toFixed(1)} s after the grant`);
  console.log([refusalTable(cells), ...used].join('\n'));
  for (const cell of cells) {
    if (cell instanceof Error) throw cell;
    const { row, phase, processorPercent, log, doctor, stoppedMs, exit } = cell;
    const name = `${row.name}, ${phase}`;
    expect(processorPercent, name).toBeLessThan(5);
    // Of a start, the lines about the start itself are left out.
    const ofRefusal = log.filter((line) => /"level":"(warn|error)"/.test(line));
    expect(ofRefusal.length, `${name}\n${ofRefusal.join('\n')}`).toBeLessThanOrEqual(10);
    expect(log.join('\n'), name).toMatch(row.logWords);
    const prose = doctor.replaceAll(/\s+/g, ' ');
    expect(prose, name).toMatch(row.doctorWords);
    expect(prose, name).toMatch(row.remedyWords);
    expect(stoppedMs, name).toBeLessThan(20_000);
    expect(exit, name).toBe(0);
    more(cell);
  }
}

/** Settings that give a daemon something to notify: a backup that cannot be written, once. */
export const FAILING_BACKUP = { backup: { cron: '0 0 1 1 *', folder: './usage-ledger.yml/backups' } };
