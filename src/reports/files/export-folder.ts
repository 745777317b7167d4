import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { fileTime } from '../../core/clock.ts';
import { folderFault, makeFolder } from '../../core/process/folder-fault.ts';
import { ageMs, latestPlausibleTime } from '../../core/stored-time.ts';
import { writeAtomically } from './atomic-file.ts';
import { SHEET_FORMATS, type SheetFormat } from './sheet-formats.ts';

/** The trigger of an export file: a time (ISO-8601 UTC) or the close of a period. */
export type ExportOccasion = { at: string } | { period: string; eventSeq: number };

export interface ExportState {
  /** The ISO time of the last file by cron. Null before the first. */
  at: string | null;
  /** The last close with a file. Null before the first. */
  eventSeq: number | null;
  /** The ISO time when the last file was written. Null before the first. */
  writtenAt: string | null;
  /** The reason why the next file cannot be written, and when it began. Null if all is well. */
  failing: { since: string; reason: string } | null;
}

export const NEVER_EXPORTED: ExportState = { at: null, eventSeq: null, writtenAt: null, failing: null };
const stateSchema = z.strictObject({
  at: z.string().nullable(),
  eventSeq: z.number().nullable(),
  writtenAt: z.string().nullable().default(null),
  failing: z.strictObject({ since: z.string(), reason: z.string() }).nullable(),
});
/** The age at which an unfinished file is taken for the remains of a killed process. */
const ABANDONED_MS = 24 * 60 * 60 * 1000;
/** The number of digits of a close, so that names sort in its order. */
const SEQ_DIGITS = 8;

/**
 * Returns a file name such as `usage-20260301T060000Z.csv` or `charges-2026-02-close-00000012.csv`. Names contain no
 * ids.
 */
export function exportName(name: string, occasion: ExportOccasion, format: SheetFormat): string {
  const suffix =
    'at' in occasion
      ? fileTime(Date.parse(occasion.at))
      : `${occasion.period}-close-${String(occasion.eventSeq).padStart(SEQ_DIGITS, '0')}`;
  return `${name}-${suffix}.${format}`;
}

/** Reads the state of an export. Returns an empty state if the folder is new or the state is unreadable. */
export function readExportState(folder: string, name: string): ExportState {
  const path = statePath(folder, name);
  if (!existsSync(path)) return NEVER_EXPORTED;
  try {
    return stateSchema.parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch {
    return NEVER_EXPORTED;
  }
}

/**
 * Returns the current state of an export. An unusable folder counts as a fault even if the fault could not be recorded
 * in it.
 */
export function readExportStatus({ folder, name }: { folder: string; name: string }): ExportStatus {
  const { writtenAt, failing } = readExportState(folder, name);
  const reason = folderFault(folder);
  return { name, writtenAt, failing: failing ?? (reason === null ? null : { since: null, reason }) };
}

export interface ExportStatus extends Pick<ExportState, 'writtenAt'> {
  name: string;
  /** `since` is null if the fault was not recorded. */
  failing: { since: string | null; reason: string } | null;
}

export async function writeExportState(folder: string, name: string, state: ExportState): Promise<void> {
  makeFolder(folder, 'correct `folder:` of the export, or the permissions of the folder');
  await writeAtomically(statePath(folder, name), (part) => writeFileSync(part, `${JSON.stringify(state)}\n`));
}

interface Limits {
  keep: number;
  nowMs: number;
}

/**
 * Deletes the oldest files of an export until `keep` remain, and the unfinished files of killed processes. Files with
 * other names are not touched.
 *
 * Returns the names of the deleted files.
 */
export function rotateExports(folder: string, name: string, limits: Limits): string[] {
  const unfinished = new RegExp(`^\\.${name}-[^/]*\\.part-\\w{6,8}$`);
  const files = readdirSync(folder);
  const removed = oldExports(files, name, limits);
  for (const file of removed) rmSync(join(folder, file));
  for (const file of files.filter((candidate) => unfinished.test(candidate))) {
    const path = join(folder, file);
    const age = ageMs(statSync(path).mtimeMs, limits.nowMs) ?? ABANDONED_MS;
    if (age >= ABANDONED_MS) rmSync(path, { recursive: true });
  }
  return removed;
}

/** Returns the oldest files of an export, beyond the `keep` that remain. Files with other names are ignored. */
export function oldExports(files: readonly string[], name: string, { keep, nowMs }: Limits): string[] {
  const { timed, closed } = filePatterns(name);
  const latest = fileTime(Date.parse(latestPlausibleTime(nowMs)));
  return [timed, closed].flatMap((pattern) => {
    const ownFiles = files.filter((file) => pattern.test(file));
    // A file dated in the future sorts before all others.
    const orderOf = (file: string): string => {
      const order = pattern.exec(file)?.[1] ?? '';
      return order > latest && pattern === timed ? '' : order;
    };
    return ownFiles.sort((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1)).slice(0, Math.max(0, ownFiles.length - keep));
  });
}

export function createFileMatcher(name: string): (file: string) => boolean {
  const { timed, closed } = filePatterns(name);
  return (file) => timed.test(file) || closed.test(file);
}

function filePatterns(name: string): { timed: RegExp; closed: RegExp } {
  const formats = SHEET_FORMATS.join('|');
  return {
    timed: new RegExp(`^${name}-(\\d{8}T\\d{6}Z)\\.(${formats})$`),
    closed: new RegExp(`^${name}-\\d{4}-\\d\\d-close-(\\d{${SEQ_DIGITS}})\\.(${formats})$`),
  };
}

/** Returns the name prefix of the work folder for a file that is uploaded elsewhere. Six more characters follow. */
export function exportFolderPrefix(path: string): string {
  return join(dirname(path), `.${basename(path)}.part-`);
}

export function removeUnfinishedExports(path: string): void {
  const folder = dirname(path);
  const prefix = basename(exportFolderPrefix(path));
  for (const file of readdirSync(folder).filter((candidate) => candidate.startsWith(prefix)))
    rmSync(join(folder, file), { recursive: true });
}

function statePath(folder: string, name: string): string {
  return join(folder, `.${name}.export`);
}
