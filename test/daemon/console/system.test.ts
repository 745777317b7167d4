import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { copiesOf, FIRST, SECOND, SECRET, workspaceSettings } from '../../commands/world.ts';
import { ledgerOfOperations } from '../../operations/ledger-of-operations.ts';
import { rowsOf, textOf } from './page-text.ts';
import { serveConsole } from './served-console.ts';

const world = copiesOf(ledgerOfOperations);

describe('the system page', () => {
  it('examines the program on request and shows each fault with its remedy', async () => {
    const served = await world();
    served.configure({
      workspaces: [FIRST, SECOND].map((workspace) => workspaceSettings(served.sandbox, workspace)),
      backup: { folder: join(served.folder, 'backups') },
      log_level: 'silent',
    });
    const { signIn } = await serveConsole(served);
    const visitor = await signIn('operate');
    expect(textOf((await visitor.get('/system')).body)).toContain('Not examined since the daemon started.');
    writeFileSync(join(served.folder, 'backups'), 'a file where a folder is needed');
    await visitor.post('/system/examine', {}, { from: '/system' });
    const { body } = await visitor.get('/system');
    expect(textOf(body)).toMatch(/Examined: \d+ findings?\./);
    const failing = rowsOf(body, 'backup');
    expect(failing[0]?.slice(0, 2)).toEqual(['backup', 'fails']);
    expect(failing[0]?.[2]).toContain('is not a folder Correct `backup.folder`, or the rights of the folder.');
    expect(rowsOf(body, 'last backup')[0]?.[1]).toBe('fails');
    expect(rowsOf(body, 'service').map(([name]) => name)).toEqual(['service ws-1', 'service ws-2']);
    expect(body).not.toContain(SECRET);
  });

  it('shows the active configuration and where backups are, without a secret', async () => {
    const served = await world();
    served.configure({
      workspaces: [FIRST, SECOND].map((workspace) => workspaceSettings(served.sandbox, workspace)),
      redis_url: 'redis://user:a-password-of-redis@127.0.0.1:6379',
      publish: { url: 'postgres://ledger:a-password-of-postgres@127.0.0.1:5432/ledger' },
      backup: { cron: '30 2 * * *', keep: 5, folder: join(served.folder, 'backups') },
    });
    const { signIn } = await serveConsole(served);
    const { body } = await (await signIn('read')).get('/system');
    const text = textOf(body);
    expect(text).toContain(`Workspaces 2 workspaces of ${new URL(served.sandbox.url).host}`);
    expect(text).toContain('127.0.0.1:5432, schema usage_ledger');
    expect(text).toContain('30 2 * * * (UTC), 5 kept');
    for (const secret of [SECRET, 'a-password-of-redis', 'a-password-of-postgres']) expect(body).not.toContain(secret);
    expect(body).not.toContain('/system/examine');
  });

  it('pauses and resumes an outlet under the name of the person', async () => {
    const served = await world();
    const { signIn } = await serveConsole(served);
    const visitor = await signIn('operate');
    await visitor.post('/system/pause-outlet', { outlet: 'billing', note: 'new tariff' }, { from: '/system' });
    expect(textOf((await visitor.get('/system')).body)).toContain('billing is paused.');
    const { out } = await served.run('outlets', 'status', '--json');
    expect(out).toContain('paused by Ada Lovelace (signed in): new tariff');
    await visitor.post('/system/resume-outlet', { outlet: 'billing', perhaps: 'ask' }, { from: '/system' });
    expect(textOf((await visitor.get('/system')).body)).toContain('billing is sending.');
    const reader = await signIn('read');
    for (const action of ['pause-outlet', 'resume-outlet', 'examine']) {
      const { status } = await reader.post(`/system/${action}`, { outlet: 'billing', note: 'x' });
      expect([action, status]).toEqual([action, 403]);
    }
  });
});
