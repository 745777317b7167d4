import { join } from 'node:path';
import { expect, test } from 'vitest';
import { mergeReload } from '../../src/daemon/reload.ts';
import { configure } from '../support/daemon-folder.ts';
import { startDaemonProcess } from '../support/daemon-process.ts';
import { startFixture } from '../support/sandbox-fixture.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { startWorld } from './reload-world.ts';

test('a running sync continues when its key is replaced and revoked', async () => {
  const { sandbox, settings } = await startWorld({ tenants: 150 });
  const folder = configure(temporaryFolder(), settings('ws-1'));
  const daemon = startDaemonProcess(folder);
  const exchange = async (): Promise<void> => {
    const workspace = sandbox.workspace('ws-1');
    sandbox.keys.set('ak_new', { id: 'ak_new', secret: 'sk_that_is_new', workspace });
    const [{ api_key_id, secret_key, ...own }] = settings('ws-1').workspaces as [Record<string, string>];
    const keys = [{ api_key_id: 'ak_new', secret_key: 'sk_that_is_new' }];
    configure(folder, { ...settings('ws-1'), workspaces: [{ ...own, keys }] });
    daemon.child.kill('SIGHUP');
    await daemon.line('configuration reloaded');
    sandbox.keys.delete(String(api_key_id));
  };
  sandbox.faults.push({ when: { page: 2 }, action: { type: 'before', run: exchange } });
  expect(await daemon.line('run applied')).toMatchObject({ workspaceId: 'ws-1', records: 300 });
  expect(daemon.lines.filter(({ level }) => level === 'error')).toEqual([]);
  // Page 2 was asked for by the old key, and at once again by the new one.
  const statuses = sandbox.requests.records.map(({ status }) => status);
  expect(statuses.slice(0, 3)).toEqual([200, 401, 200]);
  daemon.child.kill('SIGTERM');
  expect(await daemon.exit()).toBe(0);
});

test('only settings of the start need a restart', async () => {
  const { config } = await startFixture();
  const next = {
    ...config,
    workers: 3,
    http: { ...config.http, port: 1, publicUrl: 'https://x.example' },
    workspaces: config.workspaces.map((workspace) => ({ ...workspace, cron: '0 0 * * *' })),
  };
  const { config: taken, needsRestart } = mergeReload(next, config);
  expect(needsRestart).toEqual(['workers', 'http.port']);
  expect(taken).toMatchObject({
    workers: config.workers,
    http: { port: config.http.port, publicUrl: 'https://x.example' },
  });
  expect(taken.workspaces[0]?.cron).toBe('0 0 * * *');
  const other = { ...next, ledger: { ...config.ledger, path: join(temporaryFolder(), 'other.db') } };
  expect(mergeReload(other, config)).toEqual({ config, needsRestart: ['ledger.path'] });
});
