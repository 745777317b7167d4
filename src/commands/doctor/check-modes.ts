import { readFileSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { parseYaml } from '../../config/reading/yaml.ts';
import type { Config } from '../../config/types.ts';
import { groupOf, listOf } from '../../core/text/path.ts';
import { type Finding, ok, warn } from './finding.ts';

const READABLE_BY_OTHERS = 0o044;
const READABLE_BY_ALL = 0o004;
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
  const settings = [groupOf(root.defaults), ...listOf(root.workspaces).map(groupOf)];
  const secrets = [
    ...settings.map((group) => group.secret_key),
    ...listOf(groupOf(root.alerts).channels).map((channel) => groupOf(channel).secret),
    groupOf(root.http).token,
    groupOf(root.s3).secret_access_key,
  ];
  if (secrets.some(isLiteral)) files.push(config.file);
  const named = [...settings.map((group) => group.secret_key_file), groupOf(root.s3).secret_access_key_file];
  for (const file of named) {
    if (typeof file === 'string' && isLiteral(file)) files.push(resolve(folder, file.trim()));
  }
  return files;
}

/** Written out, not taken from the environment. */
function isLiteral(value: unknown): boolean {
  return typeof value === 'string' && value.trim() !== '' && !value.includes('${');
}
