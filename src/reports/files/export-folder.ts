import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { fileTime } from '../../core/clock.ts';
import { folderFault, makeFolder } from '../../core/process/folder-fault.ts';
import { ageMs, latestKnown } from '../../core/stored-time.ts';
import { writeAtomically } from './atomic-file.ts';
import { SHEET_FORMATS, type SheetFormat } from './sheet-formats.ts';

/** What an export's file is of: a moment (ISO-8601 UTC), or a close of a period. */
export type ExportOccasion = { at: string } | { period: string; eventSeq: number };

export interface ExportState {
  /** ISO time of the last file by cron; null before the first. */
  at: string | null;
  /** The last close of which a file was made; null before the first. */
  eventSeq: number | null;
  /** When the last file was written, ISO time; null before the first. */
  writtenAt: string | null;
  /** Since when and why the next file cannot be made; null when all is well. */
  failing: { since: string; reason: string } | null;
}

const NEVER_EXPORTED: ExportState = { at: null, eventSeq: null, writtenAt: null, failing: null };
const stateSchema = z.strictObject({
  at: z.string().nullable(),
  eventSeq: z.number().nullable(),
  writtenAt: z.string().nullable().default(null),
  failing: z.strictObject({ since: z.string(), reason: z.string() }).nullable(),
});
/** An unfinished file this old belongs to a process that was killed. */
const ABANDONED_MS = 24 * 60 * 60 * 1000;
/** As many digits as numbers of closes have, so that names sort as they do. */
const SEQ_DIGITS = 8;

/** The name of a file, such as `usage-20260301T060000Z.csv` or `charges-2026-02-close-00000012.csv`: no id is in it. */
export function exportName(name: string, occasion: ExportOccasion, format: SheetFormat): string {
  const of =
    'at' in occasion
      ? fileTime(Date.parse(occasion.at))
      : `${occasion.period}-close-${String(occasion.eventSeq).padStart(SEQ_DIGITS, '0')}`;
  return `${name}-${of}.${format}`;
}

/** What is known of an export; nothing when its folder has never been used. A state that cannot be read counts as none. */
export function readExportState(folder: string, name: string): ExportState {
  const path = statePath(folder, name);
  if (!existsSync(path)) return NEVER_EXPORTED;
  try {
    return stateSchema.parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch {
    return NEVER_EXPORTED;
  }
}

/** How an export stands now. A folder that cannot be used is a fault also where that could not be noted in it. */
export function exportStanding({ folder, name }: { folder: string; name: string }): ExportStanding {
  const { writtenAt, failing } = readExportState(folder, name);
  const reason = folderFault(folder);
  return { name, writtenAt, failing: failing ?? (reason === null ? null : { since: null, reason }) };
}

export interface ExportStanding extends Pick<ExportState, 'writtenAt'> {
  name: string;
  /** `since` is null when nobody has noted it. */
  failing: { since: string | null; reason: string } | null;
}

export async function writeExportState(folder: string, name: string, state: ExportState): Promise<void> {
  makeFolder(folder, 'correct `folder:` of the export, or the rights of the folder');
  await writeAtomically(statePath(folder, name), (part) => writeFileSync(part, `${JSON.stringify(state)}\n`));
}

interface Limits {
  keep: number;
  nowMs: number;
}

/**
 * Deletes the oldest files of an export until `keep` are left, and what writers that were killed have left. Nothing of
 * another name is touched.
 *
 * @returns the names of the files that were deleted.
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

/** The oldest files of an export, which are too many when `keep` are to stay; other names are not among them. */
export function oldExports(files: readonly string[], name: string, { keep, nowMs }: Limits): string[] {
  const { timed, closed } = patternsOf(name);
  const latest = fileTime(Date.parse(latestKnown(nowMs)));
  return [timed, closed].flatMap((pattern) => {
    const own = files.filter((file) => pattern.test(file));
    // A moment of the future is older than any that can have been.
    const orderOf = (file: string): string => {
      const order = pattern.exec(file)?.[1] ?? '';
      return order > latest && pattern === timed ? '' : order;
    };
    return own.sort((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1)).slice(0, Math.max(0, own.length - keep));
  });
}

export function isFileOf(name: string): (file: string) => boolean {
  const { timed, closed } = patternsOf(name);
  return (file) => timed.test(file) || closed.test(file);
}

function patternsOf(name: string): { timed: RegExp; closed: RegExp } {
  const formats = SHEET_FORMATS.join('|');
  return {
    timed: new RegExp(`^${name}-(\\d{8}T\\d{6}Z)\\.(${formats})$`),
    closed: new RegExp(`^${name}-\\d{4}-\\d\\d-close-(\\d{${SEQ_DIGITS}})\\.(${formats})$`),
  };
}

/** A file that goes elsewhere is made in a folder of this name and six more characters. */
export function workFolderPrefix(path: string): string {
  return join(dirname(path), `.${basename(path)}.part-`);
}

export function removeUnfinished(path: string): void {
  const folder = dirname(path);
  const prefix = basename(workFolderPrefix(path));
  for (const file of readdirSync(folder).filter((candidate) => candidate.startsWith(prefix)))
    rmSync(join(folder, file), { recursive: true });
}

function statePath(folder: string, name: string): string {
  return join(folder, `.${name}.export`);
}
