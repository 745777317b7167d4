import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { fileTime } from '../../core/clock.ts';
import { folderFault, makeFolder } from '../../core/process/folder-fault.ts';
import { ageMs, latestPlausibleTime } from '../../core/stored-time.ts';
import { writeAtomically } from './atomic-file.ts';
import { SHEET_FORMATS, type SheetFormat } from './sheet-formats.ts';

/** The reason for writing an export file: a scheduled time (`at`, ISO-8601 UTC), or the close of a period. */
export type ExportOccasion = { at: string } | { period: string; eventSeq: number };

export interface ExportState {
  /** The scheduled time of the last file that was written by a schedule, ISO-8601 UTC; null before the first file. */
  at: string | null;
  /** The number of the last close for which a file was written; null before the first file. */
  eventSeq: number | null;
  /** The time when the last file was written, ISO-8601 UTC; null before the first file. */
  writtenAt: string | null;
  /** Why files cannot be written at present, and since when; null if the last attempt succeeded. */
  failing: { since: string; reason: string } | null;
}

export const NEVER_EXPORTED: ExportState = { at: null, eventSeq: null, writtenAt: null, failing: null };
const stateSchema = z.strictObject({
  at: z.string().nullable(),
  eventSeq: z.number().nullable(),
  writtenAt: z.string().nullable().default(null),
  failing: z.strictObject({ since: z.string(), reason: z.string() }).nullable(),
});
/** An unfinished file of this age, in milliseconds, is deleted: the process that wrote it was probably killed. */
const ABANDONED_MS = 24 * 60 * 60 * 1000;
/** The number of a close is padded to this many digits in file names, so that names sort in the order of the closes. */
const SEQ_DIGITS = 8;

/**
 * Returns a file name such as `usage-20260301T060000Z.csv` or `charges-2026-02-close-00000012.csv`. The name contains
 * no workspace or tenant id.
 */
export function exportName(name: string, occasion: ExportOccasion, format: SheetFormat): string {
  const suffix =
    'at' in occasion
      ? fileTime(Date.parse(occasion.at))
      : `${occasion.period}-close-${String(occasion.eventSeq).padStart(SEQ_DIGITS, '0')}`;
  return `${name}-${suffix}.${format}`;
}

/** Reads the recorded state of an export. Returns an empty state if no state is recorded or if it cannot be read. */
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
 * Returns the current state of an export. If the folder cannot be used, this is reported as a fault, although the fault
 * could not be recorded in the folder.
 */
export function readExportStatus({ folder, name }: { folder: string; name: string }): ExportStatus {
  const { writtenAt, failing } = readExportState(folder, name);
  const reason = folderFault(folder);
  return { name, writtenAt, failing: failing ?? (reason === null ? null : { since: null, reason }) };
}

export interface ExportStatus extends Pick<ExportState, 'writtenAt'> {
  name: string;
  /** `since` is the time of the first failure; null if the failure could not be recorded. */
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
 * Deletes the oldest files of an export until `keep` files remain, and deletes old unfinished files of killed
 * processes. Leaves files with other names alone. Returns the names of the deleted export files.
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

/**
 * Returns the files of an export to delete, so that the newest `keep` files remain. Files by schedule and files of
 * closes are counted separately. Files with other names are ignored.
 */
export function oldExports(files: readonly string[], name: string, { keep, nowMs }: Limits): string[] {
  const { timed, closed } = filePatterns(name);
  const latest = fileTime(Date.parse(latestPlausibleTime(nowMs)));
  return [timed, closed].flatMap((pattern) => {
    const ownFiles = files.filter((file) => pattern.test(file));
    // A file dated in the future is deleted first: otherwise it would remain forever as the newest file.
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

/**
 * Returns the path prefix of a temporary folder for a file that is to be uploaded. Six random characters follow the
 * prefix.
 */
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
