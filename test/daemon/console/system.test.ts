import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { copiesOf, FIRST, SECOND, SECRET, workspaceSettings } from '../../commands/world.ts';
import { ledgerOfOperations } from '../../operations/ledger-of-operations.ts';
import { SECRET as RECEIVER_SECRET, WebhookReceiver } from '../../outlets/webhook-receiver.ts';
import { MEASURED, OUTLET } from '../http/measured.ts';
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

  it('starts an outlet after a page that shows what would be sent', async () => {
    const served = await world();
    const receiver = await new WebhookReceiver().start();
    served.configure({
      workspaces: [FIRST, SECOND].map((workspace) => workspaceSettings(served.sandbox, workspace)),
      outlets: [
        { name: 'invoices', type: 'webhook', url: receiver.url, allow_private: true, secret: RECEIVER_SECRET },
        {
          ...{ name: 'away', type: 'webhook', secret: RECEIVER_SECRET },
          url: 'http://127.0.0.1:9/',
          allow_private: true,
        },
      ],
    });
    const measured = { ...MEASURED, outlets: () => [{ ...OUTLET, name: 'invoices', state: 'not_started' as const }] };
    const { signIn } = await serveConsole(served, { measured });
    const visitor = await signIn('finance');
    const page = '/system/outlets/invoices/start';
    expect((await visitor.get('/system')).body).toContain(`href="${page}"`);
    expect((await visitor.get(page)).body).not.toContain('To be sent');
    const { body } = await visitor.get(`${page}?from=2026-02`);
    const [sums] = served.query(
      `SELECT count(*) AS events, format('%,d', sum(credits_delta)) AS credits FROM finance_history WHERE period = '2026-02'`,
    ) as [{ events: number; credits: string }];
    expect(rowsOf(body, 'February 2026')).toEqual([['February 2026', `${sums.events}`, sums.credits, '0', '0']]);
    expect(receiver.counted).toEqual([]);
    const started = 'SELECT name, begun_by FROM outlets';
    const { headers } = await visitor.post(page, { from: '2026-02' }, { from: `${page}?from=2026-02` });
    expect(headers.location).toBe('/system');
    expect(textOf((await visitor.get('/system')).body)).toContain('invoices is sending usage from February 2026 on.');
    expect(served.query(started)).toContainEqual({ name: 'invoices', begun_by: 'Ada Lovelace (signed in)' });
    expect(textOf((await visitor.get(`${page}?from=soon`)).body)).toContain(
      '"soon" is not a month. Write it as YYYY-MM.'.replaceAll('"', '&quot;'),
    );
    const refused = textOf((await visitor.get('/system/outlets/away/start?from=2026-02')).body);
    expect(refused).toContain('ECONNREFUSED');
    expect(refused).not.toContain('To be sent');
    const operator = await signIn('operate');
    expect((await operator.get('/system')).body).not.toContain(page);
    expect((await operator.get(page)).status).toBe(403);
    expect((await operator.post(page, { from: '2026-02' }, { from: '/system' })).status).toBe(403);
  });
});
