import { readFileSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { SECRETS, secretSourceOf } from '../../config/reading/secret-sources.ts';
import { parseYaml } from '../../config/reading/yaml.ts';
import type { Config, S3Place } from '../../config/types.ts';
import type { Clock } from '../../core/clock.ts';
import { folderFault } from '../../core/process/folder-fault.ts';
import { asMapping, type Path } from '../../core/text/path.ts';
import { BACKUP_FOLDER_REMEDY } from '../../ledger/transfer/backup/backup.ts';
import { dueSlot } from '../../queue/slots.ts';
import { readExportState, readExportStatus } from '../../reports/files/export-folder.ts';
import { type DoctorFinding, fail, failedWith, ok, warn } from './finding.ts';

/** An export counts as late if its file is still missing this many milliseconds after its scheduled time. */
const EXPORT_LATE_AFTER_MS = 10 * 60_000;

export function checkBackups({ backup }: Pick<Config, 'backup'>): DoctorFinding[] {
  if (backup === null) return [];
  const fault = folderFault(backup.folder);
  if (fault !== null) return [fail('backup', fault, BACKUP_FOLDER_REMEDY)];
  return [ok('backup', `${backup.folder} is writable`)];
}

export function checkExports({ exports }: Pick<Config, 'exports'>, nowMs: number): DoctorFinding[] {
  return exports.map(({ name, folder, cron, timezone }) => {
    const { at, eventSeq } = readExportState(folder, name);
    const { failing } = readExportStatus({ folder, name });
    if (failing !== null) {
      const remedy = 'fix what the reason names; the daemon retries every five minutes';
      const since = failing.since === null ? '' : ` since ${failing.since}`;
      return fail('exports', `no file${since}: ${failing.reason}`, remedy, name);
    }
    if (cron === null)
      return ok('exports', eventSeq === null ? 'waiting for the first close' : 'written after each close', name);
    const schedule = { cron, timezone };
    const isLate =
      dueSlot(schedule, at, nowMs) !== null && dueSlot(schedule, at, nowMs - EXPORT_LATE_AFTER_MS) !== null;
    if (isLate) {
      const last = at === null ? 'no file was written yet' : `the last file is from ${at}, and a later one is due`;
      return warn('exports', last, 'start the daemon: it writes the file', name);
    }
    return ok('exports', `last file from ${at}`, name);
  });
}

/** The timeout of a request to an S3 service, in milliseconds. A healthy service answers much faster. */
const BUCKET_TIMEOUT_MS = 10_000;

/** Checks each bucket of backups and exports by writing, listing, reading and deleting a small object. */
export async function checkBuckets({ backup, exports }: Config, clock: Clock): Promise<DoctorFinding[]> {
  const places = new Map<string, S3Place>();
  for (const { to } of [...(backup === null ? [] : [backup]), ...exports]) {
    if (to !== null) places.set(`s3://${to.bucket}/${to.prefix}`, to);
  }
  return Promise.all([...places].map(([address, place]) => checkPlace(address, place, clock)));
}

async function checkPlace(address: string, place: S3Place, clock: Clock): Promise<DoctorFinding> {
  const { findPrefixFault } = await import('../../s3/try-place.ts');
  const way = { place, clock, signal: new AbortController().signal, answerMs: BUCKET_TIMEOUT_MS, attempts: 2 };
  try {
    const difference = await findPrefixFault(way);
    if (difference === null) return ok('bucket', 'an object was written, listed, read and deleted', address);
    return fail('bucket', difference, 'check that `s3.endpoint` is an S3 service', address);
  } catch (error) {
    return failedWith('bucket', error, 'fix what the message names', address);
  }
}

const READABLE_BY_OTHERS = 0o044;
const READABLE_BY_ALL = 0o004;
/**
 * Settings whose values may be secret but usually are not. A configuration file that other users can read is not
 * reported because of these settings.
 */
const RARELY_SECRET = ['access_key_id', 'url', 'redis_url'];
const OWNER_ONLY = 'ledger and secrets are readable by their owner only';

export function checkModes(config: Config, cwd: string): DoctorFinding[] {
  const { path, readerGroup } = config.ledger;
  const ledgerFiles = ['', '-wal', '-shm'].map((suffix) => `${path}${suffix}`);
  const exposed = [
    modeFinding(ledgerFiles, 'the ledger', readerGroup === undefined ? READABLE_BY_OTHERS : READABLE_BY_ALL),
    ...secretFiles(config, cwd).map((file) => modeFinding([file], 'secrets', READABLE_BY_OTHERS)),
  ].filter((finding) => finding !== null);
  return exposed.length > 0
    ? exposed
    : [
        ok(
          'modes',
          readerGroup === undefined
            ? OWNER_ONLY
            : `secrets are readable by their owner only, the ledger also by ${readerGroup}`,
        ),
      ];
}

function modeFinding(files: readonly string[], holds: string, forbidden: number): DoctorFinding | null {
  const exposed = files.filter((file) => (modeOf(file) & forbidden) !== 0);
  const [first] = exposed;
  if (first === undefined) return null;
  const octal = modeOf(first).toString(8).padStart(4, '0');
  const message = `${first} holds ${holds} and can be read by others (mode ${octal})`;
  return warn(
    'modes',
    message,
    `run \`chmod ${forbidden === READABLE_BY_ALL ? '640' : '600'} ${exposed.join(' ')}\``,
    basename(first),
  );
}

/**
 * Returns the permission bits of a file. Returns 0 for a missing file, and for a folder, where the bits have another
 * meaning.
 */
function modeOf(file: string): number {
  const found = statSync(file, { throwIfNoEntry: false });
  return found?.isFile() === true ? found.mode & 0o777 : 0;
}

function secretFiles(config: Config, cwd: string): string[] {
  const folder = config.file === null ? cwd : dirname(config.file);
  const files = [join(folder, '.env')];
  if (config.file === null) return files;
  const parsed = parseYaml(readFileSync(config.file, 'utf8'), config.file);
  const root = asMapping(parsed.faults === undefined ? parsed.value : {});
  const settings = settingsWithin(root, []);
  if (settings.some(({ key, value }) => isSecret(key) && isLiteral(value))) files.push(config.file);
  for (const { key, value, path } of settings) {
    if (secretSourceOf(key, path)?.source === 'file' && isLiteral(value))
      files.push(resolve(folder, String(value).trim()));
  }
  return files;
}

function isSecret(key: string): boolean {
  return SECRETS.includes(key) && !RARELY_SECRET.includes(key);
}

interface WrittenSetting {
  key: string;
  value: unknown;
  path: Path;
}

function settingsWithin(value: unknown, path: Path): WrittenSetting[] {
  if (value === null || typeof value !== 'object') return [];
  return Object.entries(value).flatMap(([key, inner]) => [
    { key, value: inner, path },
    ...settingsWithin(inner, [...path, key]),
  ]);
}

/**
 * Reports whether the value is written in the configuration file itself, and does not come from an environment
 * variable.
 */
function isLiteral(value: unknown): boolean {
  return typeof value === 'string' && value.trim() !== '' && !value.includes('${');
}
