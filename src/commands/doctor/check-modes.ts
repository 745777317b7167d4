import { readFileSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { SECRETS, sourceOf } from '../../config/reading/secret-sources.ts';
import { parseYaml } from '../../config/reading/yaml.ts';
import type { Config } from '../../config/types.ts';
import { groupOf, type Path } from '../../core/text/path.ts';
import { type Finding, ok, warn } from './finding.ts';

const READABLE_BY_OTHERS = 0o044;
const READABLE_BY_ALL = 0o004;
/** These may be secrets, and mostly are none. */
const RARELY_SECRET = ['access_key_id', 'url', 'redis_url'];
const ALONE = 'ledger and secrets are readable for their owner alone';

/** Whether others on this machine can read the ledger, or files that hold secrets. */
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

/** One finding for files that belong together, such as the ledger and its log. */
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

/** The configuration when secrets are written into it, the `.env` beside it and the files that it names. */
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
  /** Of the group that it stands in. */
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
