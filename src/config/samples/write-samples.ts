import { closeSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AppError } from '../../core/errors.ts';
import { CONFIG_FILE_NAME } from '../load.ts';
import { composeFile, type Installation, pm2File, systemdUnit } from './run-files.ts';
import { sampleConfig, sampleEnv } from './sample-config.ts';

/** Which files were written and which were there already. */
export interface WrittenSamples {
  written: string[];
  kept: string[];
}

export interface SampleChoice extends Installation {
  /** Also `usage-ledger.service`. */
  systemd: boolean;
  /** Also `compose.yaml`. */
  compose: boolean;
}

/**
 * Writes `usage-ledger.yml` (readable for the user alone, since a secret may be put into it), `.env.example` and what the
 * daemon is run by into an existing folder. A file that is there is never touched.
 *
 * @throws AppError `sample_not_written` when the folder cannot be written to.
 */
export function writeSamples(choice: SampleChoice): WrittenSamples {
  const files = [
    { name: CONFIG_FILE_NAME, text: `${editorLine(choice)}${sampleConfig()}`, mode: 0o600 },
    { name: '.env.example', text: sampleEnv(), mode: 0o644 },
    { name: 'ecosystem.config.cjs', text: pm2File(choice), mode: 0o644 },
    ...(choice.systemd ? [{ name: 'usage-ledger.service', text: systemdUnit(choice), mode: 0o644 }] : []),
    ...(choice.compose ? [{ name: 'compose.yaml', text: composeFile(choice), mode: 0o644 }] : []),
  ];
  const result: WrittenSamples = { written: [], kept: [] };
  for (const { name, text, mode } of files) {
    const file = join(choice.folder, name);
    (createFile(file, text, mode) ? result.written : result.kept).push(file);
  }
  return result;
}

/** Editors that know YAML's language server complete and check the file by this line. */
function editorLine({ packageFolder }: Installation): string {
  return `# yaml-language-server: $schema=${join(packageFolder, 'schemas/config.json')}\n`;
}

/** False when the file exists. Half a file is removed again: it would be kept for ever otherwise. */
function createFile(file: string, text: string, mode: number): boolean {
  let handle: number | undefined;
  try {
    handle = openSync(file, 'wx', mode);
    writeFileSync(handle, text);
    return true;
  } catch (error) {
    if (handle !== undefined) rmSync(file, { force: true });
    else if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw new AppError('sample_not_written', `${file} cannot be written`, {
      hint: 'check that the folder exists, belongs to this user, is writable and has space left',
      cause: error,
    });
  } finally {
    if (handle !== undefined) closeSync(handle);
  }
}
