import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parse, stringify } from 'yaml';
import { describeSandbox, startSandbox } from '../../../src/sandbox/server.ts';
import { freePort } from '../../queue/support.ts';
import { CLI } from '../../support/daemon-process.ts';

/** A dependency of one daemon that can be made to refuse and to serve again. */
export interface RefusingDependency {
  /** Top-level settings of `usage-ledger.yml` that name it, such as `{ redis_url: ... }`. */
  settings: object;
  refuse(): Promise<void>;
  grant(): Promise<void>;
  /** Stops what `open` started. */
  close(): Promise<void>;
}

/** One way in which a dependency connects and refuses, and what the program has to say about it. */
export interface RefusalRow {
  dependency: string;
  /** Names the refusal, such as `NOPERM eval`. */
  name: string;
  /** When the dependency refuses: before the daemon starts, while it runs, or both (the default). */
  phases?: readonly RefusalPhase[];
  /** Starts a dependency for the daemon in this folder; it serves until `refuse` is called. */
  open(folder: string): Promise<RefusingDependency>;
  /** The reasons of `/readyz`; null where the refusal leaves the daemon ready. */
  readyReason: RegExp | null;
  /** A line of the daemon's log, as JSON. */
  logWords: RegExp;
  /** A line of `doctor`, and its remedy. */
  doctorWords: RegExp;
  remedyWords: RegExp;
}

export type RefusalPhase = 'start' | 'running';

/** What was observed of one row in one phase. */
export interface RefusalCell {
  row: RefusalRow;
  phase: RefusalPhase;
  /** From the refusal, or the start, until `/readyz` names it; null where the daemon stays ready. */
  noticedMs: number | null;
  /** The answer of `/readyz` while refused. */
  readiness: string;
  /** Processor time of the daemon, as a percentage of one processor. */
  processorPercent: number;
  /** Lines of the log in the window after the refusal, in which most of them are written: no minute has more. */
  linesInWindow: number;
  /** The daemon's lines since the refusal. */
  log: string[];
  doctor: string;
  /** From the grant until `/readyz` says 200. */
  recoveredMs: number;
  /** From the grant until a run was applied; null where one was applied before the refusal. */
  syncedMs: number | null;
  /** From SIGTERM, while refused once more, to the exit. */
  stoppedMs: number;
  exit: number | string;
}

const WINDOW_MS = Number(process.env.REFUSAL_WINDOW_SECONDS ?? 20) * 1000;
const DEADLINE_MS = 90_000;
const POLL_MS = 50;
/** Linux counts processor time in hundredths of a second. */
const TICK_MS = 10;

/** Runs one real daemon against the sandbox and the row's dependency, and measures it. */
export async function measureRefusal(row: RefusalRow, phase: RefusalPhase): Promise<RefusalCell> {
  const folder = mkdtempSync(join(tmpdir(), 'refusal-'));
  const sandbox = await startSandbox({
    scenario: { workspaces: [{ id: 'ws-1', api_key_id: 'ak_1', secret_key: 'sk_of_this_test' }] },
  });
  const dependency = await row.open(folder);
  let daemon: MeasuredDaemon | null = null;
  try {
    const port = await freePort();
    const { workspaces } = parse(describeSandbox(sandbox).join('\n'));
    const settings = { http: { port }, workspaces, ...dependency.settings };
    writeFileSync(join(folder, 'usage-ledger.yml'), stringify(settings), { mode: 0o600 });

    if (phase === 'start') await dependency.refuse();
    daemon = startMeasured(folder, port);
    if (phase === 'running') {
      await daemon.untilReady(true);
      await until('the first run', () => daemon?.hasSynced() === true);
      await dependency.refuse();
    }
    const linesBefore = phase === 'start' ? 0 : daemon.lines.length;
    const refusedMs = performance.now();
    const noticedMs = row.readyReason === null ? null : await daemon.untilReady(false);
    await delay(Math.max(0, WINDOW_MS / 2 - (performance.now() - refusedMs)));
    const processorPercent = await daemon.processorPercent(WINDOW_MS / 2);
    const linesInWindow = daemon.lines.length - linesBefore;
    const readiness = (await daemon.readiness()).body;
    const doctor = await runDoctor(folder);
    const log = daemon.lines.slice(linesBefore);

    await dependency.grant();
    const grantedMs = performance.now();
    const recoveredMs = await daemon.untilReady(true);
    const unsynced = !daemon.hasSynced();
    if (unsynced) await until('a run after the grant', () => daemon?.hasSynced() === true);
    const syncedMs = phase === 'start' ? performance.now() - grantedMs : null;

    await dependency.refuse();
    if (row.readyReason !== null) await daemon.untilReady(false);
    const { stoppedMs, exit } = await daemon.stop();
    const observed = { noticedMs, readiness, processorPercent, linesInWindow, log, doctor };
    return { row, phase, ...observed, recoveredMs, syncedMs, stoppedMs, exit };
  } catch (error) {
    const lines = daemon?.lines.join('\n') ?? 'the daemon was not started';
    throw new Error(`${row.name}, ${phase}: ${(error as Error).message}\n${lines}`, { cause: error });
  } finally {
    daemon?.kill();
    await dependency.close();
    await sandbox.close();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }
}

/** Measures all rows in all their phases, `concurrency` at a time: they mostly wait. A cell that breaks is its error. */
export async function measureAll(
  rows: readonly RefusalRow[],
  concurrency = Number(process.env.REFUSAL_CONCURRENCY ?? 8),
): Promise<(RefusalCell | Error)[]> {
  const cells = cellsOf(rows);
  const results: (RefusalCell | Error)[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    for (let index = next++; index < cells.length; index = next++) {
      const { row, phase } = cells[index] as { row: RefusalRow; phase: RefusalPhase };
      results[index] = await measureRefusal(row, phase).catch((error: Error) => error);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, work));
  return results;
}

/** The rows in all their phases, in the order of `measureAll`. */
export function cellsOf(rows: readonly RefusalRow[]): { row: RefusalRow; phase: RefusalPhase }[] {
  return rows.flatMap((row) => (row.phases ?? (['start', 'running'] as const)).map((phase) => ({ row, phase })));
}

/** The cells as a table of text, one line each. */
export function refusalTable(cells: readonly (RefusalCell | Error)[]): string {
  const header = ['refusal', 'phase', 'noticed', 'processor', 'lines', 'recovered', 'synced', 'stopped', 'exit'];
  const seconds = (ms: number | null): string => (ms === null ? '-' : `${(ms / 1000).toFixed(1)} s`);
  const body = cells.map((cell) => {
    if (cell instanceof Error) return [cell.message.split('\n', 1)[0] ?? ''];
    const { row, phase, noticedMs, processorPercent, linesInWindow, recoveredMs, syncedMs, stoppedMs, exit } = cell;
    return [
      `${row.dependency}: ${row.name}`,
      phase,
      seconds(noticedMs),
      `${processorPercent.toFixed(1)} %`,
      String(linesInWindow),
      seconds(recoveredMs),
      seconds(syncedMs),
      seconds(stoppedMs),
      String(exit),
    ];
  });
  const full = [header, ...body.filter(({ length }) => length > 1)];
  const widths = header.map((_, column) => Math.max(...full.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    row.map((text, column) => (row.length === 1 ? text : text.padEnd(widths[column] ?? 0))).join('  ');
  return [header, ...body].map(line).join('\n');
}

interface MeasuredDaemon {
  readonly lines: string[];
  hasSynced(): boolean;
  readiness(): Promise<{ status: number; body: string }>;
  /** Waits until `/readyz` says 200, or 503; the milliseconds that took. */
  untilReady(ready: boolean): Promise<number>;
  processorPercent(windowMs: number): Promise<number>;
  stop(): Promise<{ stoppedMs: number; exit: number | string }>;
  kill(): void;
}

function startMeasured(folder: string, port: number): MeasuredDaemon {
  const child = spawn(process.execPath, [CLI, 'daemon'], { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
  const lines: string[] = [];
  let rest = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    const parts = (rest + text).split('\n');
    rest = parts.pop() ?? '';
    lines.push(...parts);
  });
  const exited = once(child, 'close').then(([code, signal]) => (code ?? signal) as number | string);
  const readiness = async (): Promise<{ status: number; body: string }> => {
    try {
      const answer = await fetch(`http://127.0.0.1:${port}/readyz`, { signal: AbortSignal.timeout(5_000) });
      return { status: answer.status, body: await answer.text() };
    } catch (error) {
      return { status: 0, body: (error as Error).message };
    }
  };
  return {
    lines,
    hasSynced: () => lines.some((line) => line.includes('"msg":"run applied"')),
    readiness,
    async untilReady(ready) {
      const began = performance.now();
      const wanted = ready ? 200 : 503;
      await until(`/readyz to say ${wanted}`, async () => {
        if (hasEnded(child)) throw new Error('the daemon has ended');
        return (await readiness()).status === wanted;
      });
      return performance.now() - began;
    },
    async processorPercent(windowMs) {
      const [beganMs, before] = [performance.now(), processorMs(child.pid)];
      await delay(windowMs);
      return ((processorMs(child.pid) - before) * 100) / (performance.now() - beganMs);
    },
    async stop() {
      const began = performance.now();
      child.kill('SIGTERM');
      const exit = await Promise.race([exited, delay(DEADLINE_MS, 'still running', { ref: false })]);
      return { stoppedMs: performance.now() - began, exit };
    },
    kill() {
      if (!hasEnded(child)) child.kill('SIGKILL');
    },
  };
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

/** Processor time in user and kernel mode: fields 14 and 15 of proc(5), counted behind the name in parentheses. */
function processorMs(pid: number | undefined): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

async function runDoctor(folder: string): Promise<string> {
  const child = spawn(process.execPath, [CLI, 'doctor'], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
  let text = '';
  const add = (part: Buffer): void => {
    text += part;
  };
  child.stdout.on('data', add);
  child.stderr.on('data', add);
  await once(child, 'close');
  return text;
}

async function until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + DEADLINE_MS;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`waited ${DEADLINE_MS} ms for ${what}`);
    await delay(POLL_MS);
  }
}
