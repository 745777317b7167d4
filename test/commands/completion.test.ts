import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { COMMANDS } from '../../src/commands/command-list.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { runInEmptyFolder } from './world.ts';

const run = promisify(execFile);

/** What a real bash offers for the last of these words. */
async function offeredByBash(...words: string[]): Promise<string[]> {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'a file.csv'), '');
  writeFileSync(join(folder, 'completion.bash'), (await runInEmptyFolder('completion', 'bash')).out);
  const script = `source ./completion.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _usage_ledger
    printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout } = await run('bash', ['-c', script, 'bash', 'usage-ledger', ...words], { cwd: folder });
  return stdout.split('\n').filter((line) => line !== '');
}

describe('completion', () => {
  it.each<[string[], string[]]>([
    [['sta'], ['status', 'statement']],
    [
      ['alerts', 'silence'],
      ['silence', 'silences'],
    ],
    [
      ['usage', '--format', ''],
      ['table', 'csv', 'json', 'ndjson', 'xlsx', 'parquet'],
    ],
    [['--config', 'x.yml', 'sync', '--dry'], ['--dry-run']],
    [['usage', '--tenant', ''], []],
    [['statement', 'verify', '--j'], ['--json']],
    [
      ['completion', ''],
      ['bash', 'zsh', 'fish', '--help', '-h'],
    ],
  ])('of bash offers for %j what belongs there', async (words, offered) => {
    expect((await offeredByBash(...words)).toSorted()).toEqual(offered.toSorted());
  });

  it.each(['bash', 'zsh', 'fish'])('for %s knows every command', async (shell) => {
    const { code, out, err } = await runInEmptyFolder('completion', shell);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    for (const { name } of COMMANDS) expect(out).toMatch(new RegExp(`\\b${name}\\b`));
    expect(out).toContain('dry-run');
  });
});
