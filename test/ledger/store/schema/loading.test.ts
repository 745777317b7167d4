import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { CLI } from '../../../support/daemon-process.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';

test('a shipped command loads the tables within little memory: imported from its package, Drizzle alone takes 180 MB', () => {
  const folder = temporaryFolder();
  writeFileSync(
    join(folder, 'usage-ledger.yml'),
    'workspaces: [{ id: ws-1, base_url: "http://127.0.0.1:9", embed_url: "http://127.0.0.1:9", api_key_id: ak, secret_key: not-a-secret }]\n',
    { mode: 0o600 },
  );
  // The peak of this process alone: on Linux `resourceUsage().maxRSS` includes the parent at the time of the fork.
  const hook = `import { readFileSync } from 'node:fs';
    process.on('exit', () => process.stderr.write(readFileSync('/proc/self/status', 'utf8')));`;
  const args = ['--import', `data:text/javascript,${encodeURIComponent(hook)}`, CLI, 'migrate'];
  const { stderr } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' });
  const kilobytes = Number(/^VmHWM:\s+(\d+) kB$/m.exec(stderr)?.[1]);
  expect(kilobytes).toBeGreaterThan(10_000);
  expect(kilobytes).toBeLessThan(150_000);
});
