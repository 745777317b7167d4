import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

test.each(['config-schema', 'settings-reference', 'command-reference', 'ledger-columns', 'alert-rules'])(
  'what scripts/%s.mjs generates is what the program says',
  (name) => {
    const script = fileURLToPath(new URL(`../../scripts/${name}.mjs`, import.meta.url));
    const { status, stderr } = spawnSync(process.execPath, [script, '--check'], { encoding: 'utf8' });
    expect(stderr).toBe('');
    expect(status).toBe(0);
  },
);
