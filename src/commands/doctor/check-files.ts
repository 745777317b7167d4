import { readFileSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { SECRETS, sourceOf } from '../../config/reading/secret-sources.ts';
import { parseYaml } from '../../config/reading/yaml.ts';
import type { Config, S3Place } from '../../config/types.ts';
import type { Clock } from '../../core/clock.ts';
import { folderFault } from '../../core/process/folder-fault.ts';
import { groupOf, type Path } from '../../core/text/path.ts';
import { BACKUP_FOLDER_REMEDY } from '../../daemon/backup/backup-schedule.ts';
import { dueSlot } from '../../queue/slots.ts';
import { exportStanding, readExportState } from '../../reports/files/export-folder.ts';
import type { Bucket } from '../../s3/bucket.ts';
import { sha256 } from '../../s3/s3-client.ts';
import { broken, type Finding, fail, ok, warn } from './finding.ts';

/** After its slot a file has this long to be there. */
const PATIENCE_MS = 10 * 60_000;

export function checkBackups({ backup }: Pick<Config, 'backup'>): Finding[] {
  if (backup === null) return [];
  const fault = folderFault(backup.folder);
  if (fault !== null) return [fail('backup', fault, BACKUP_FOLDER_REMEDY)];
  return [ok('backup', `${backup.folder} can be written to`)];
}

export function checkExports({ exports }: Pick<Config, 'exports'>, nowMs: number): Finding[] {
  return exports.map(({ name, folder, cron }) => {
    const { at, eventSeq } = readExportState(folder, name);
    const { failing } = exportStanding({ folder, name });
    if (failing !== null) {
      const remedy = 'mend what the reason names; the daemon tries again every five minutes';
      const since = failing.since === null ? '' : ` since ${failing.since}`;
      return fail('exports', `no file${since}: ${failing.reason}`, remedy, name);
    }
    if (cron === null) return ok('exports', eventSeq === null ? 'waits for a close' : 'follows the closes', name);
    const isLate = dueSlot(cron, at, nowMs) !== null && dueSlot(cron, at, nowMs - PATIENCE_MS) !== null;
    if (isLate) {
      const last = at === null ? 'no file was made yet' : `the last file is of ${at}, and a later one was due`;
      return warn('exports', last, 'start the daemon, which writes it', name);
    }
    return ok('exports', `the last file is of ${at}`, name);
  });
}

const NAME = '.usage-ledger-doctor';
/** A service that is well answers sooner. */
const ANSWER_MS = 10_000;

/** Whether backups and exports can leave this machine: a small object is written, found, read and deleted in each place. */
export async function checkBuckets({ backup, exports }: Config, clock: Clock): Promise<Finding[]> {
  const places = new Map<string, S3Place>();
  for (const { to } of [...(backup === null ? [] : [backup]), ...exports]) {
    if (to !== null) places.set(`s3://${to.bucket}/${to.prefix}`, to);
  }
  return Promise.all([...places].map(([address, place]) => checkPlace(address, place, clock)));
}

async function checkPlace(address: string, place: S3Place, clock: Clock): Promise<Finding> {
  const { withBucket } = await import('../../s3/bucket.ts');
  const way = { place, clock, signal: new AbortController().signal, answerMs: ANSWER_MS, attempts: 2 };
  try {
    const difference = await withBucket(way, (bucket) => tryBucket(bucket, Buffer.from(`doctor ${clock.now()}`)));
    if (difference === null) return ok('bucket', 'an object was written, found, read and deleted', address);
    return fail('bucket', difference, 'check that `s3.endpoint` is a service that speaks S3', address);
  } catch (error) {
    return broken('bucket', error, 'correct what the message names', address);
  }
}

/** All that an upload, a rotation and a restore need; what is not as it should be, or null. */
async function tryBucket(bucket: Bucket, content: Buffer): Promise<string | null> {
  await bucket.put(NAME, content);
  const found = (await bucket.names()).includes(NAME);
  const digest = await bucket.digest(NAME);
  await bucket.unfinished();
  await bucket.remove(NAME);
  if (!found) return 'the object that was written is not in the list';
  return digest === sha256(content).toString('base64') ? null : 'what is read is not what was written';
}

const READABLE_BY_OTHERS = 0o044;
const READABLE_BY_ALL = 0o004;
/** These may be secrets, and mostly are none. */
const RARELY_SECRET = ['access_key_id', 'url', 'redis_url'];
const ALONE = 'ledger and secrets are readable for their owner alone';

export function checkModes(config: Config, cwd: string): Finding[] {
  const { path, readerGroup } = config.ledger;
  const ledgerFiles = ['', '-wal', '-shm'].map((suffix) => `${path}${suffix}`);
  const exposed = [
    judge(ledgerFiles, 'the ledger', readerGroup === undefined ? READABLE_BY_OTHERS : READABLE_BY_ALL),
    ...secretFiles(config, cwd).map((file) => judge([file], 'secrets', READABLE_BY_OTHERS)),
  ].filter((finding) => finding !== null);
  return exposed.length > 0
    ? exposed
    : [
        ok(
          'modes',
          readerGroup === undefined
            ? ALONE
            : `secrets are readable for their owner alone, the ledger for ${readerGroup}, too`,
        ),
      ];
}

function judge(files: readonly string[], holds: string, forbidden: number): Finding | null {
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

/** Permissions; none when there is no such file. Of a folder nothing is said: without its x nobody could enter it. */
function modeOf(file: string): number {
  const found = statSync(file, { throwIfNoEntry: false });
  return found?.isFile() === true ? found.mode & 0o777 : 0;
}

function secretFiles(config: Config, cwd: string): string[] {
  const folder = config.file === null ? cwd : dirname(config.file);
  const files = [join(folder, '.env')];
  if (config.file === null) return files;
  const parsed = parseYaml(readFileSync(config.file, 'utf8'), config.file);
  const root = groupOf(parsed.faults === undefined ? parsed.value : {});
  const given = settingsWithin(root, []);
  if (given.some(({ key, value }) => isSecret(key) && isLiteral(value))) files.push(config.file);
  for (const { key, value, path } of given) {
    if (sourceOf(key, path)?.source === 'file' && isLiteral(value)) files.push(resolve(folder, String(value).trim()));
  }
  return files;
}

function isSecret(key: string): boolean {
  return SECRETS.includes(key) && !RARELY_SECRET.includes(key);
}

interface GivenSetting {
  key: string;
  value: unknown;
  path: Path;
}

function settingsWithin(value: unknown, path: Path): GivenSetting[] {
  if (value === null || typeof value !== 'object') return [];
  return Object.entries(value).flatMap(([key, inner]) => [
    { key, value: inner, path },
    ...settingsWithin(inner, [...path, key]),
  ]);
}

/** Written out, not taken from the environment. */
function isLiteral(value: unknown): boolean {
  return typeof value === 'string' && value.trim() !== '' && !value.includes('${');
}
