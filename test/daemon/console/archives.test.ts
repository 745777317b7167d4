import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { copiesOf, parseJson } from '../../commands/world.ts';
import { ledgerOfOperations } from '../../operations/ledger-of-operations.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { serveConsole } from './served-console.ts';

const world = copiesOf(ledgerOfOperations);
const PERIOD = '2026-01';

describe('the archives of a month', () => {
  it('are the bundle of the closed workspaces, which verifies itself with the digest that the page shows', async () => {
    const served = await world();
    const { signIn } = await serveConsole(served);
    const visitor = await signIn('read');
    expect((await visitor.get(`/months/${PERIOD}`)).body).toContain(`href="/months/${PERIOD}/bundle.zip"`);
    const folder = temporaryFolder();
    await visitor.save(`/months/${PERIOD}/bundle.zip`, join(folder, 'bundle.zip'));
    const [, digest = ''] = /<code>([0-9a-f]{64})<\/code>/.exec((await visitor.get(`/months/${PERIOD}`)).body) ?? [];
    execFileSync('unzip', ['-q', 'bundle.zip', '-d', 'bundle'], { cwd: folder });
    const verify = (wanted: string) =>
      spawnSync(process.execPath, ['verify-bundle.mjs', '--digest', wanted], {
        cwd: join(folder, 'bundle'),
        encoding: 'utf8',
      });
    expect([verify(digest).status, verify(digest).stderr]).toEqual([0, '']);
    expect(verify('0'.repeat(64)).status).not.toBe(0);
    expect(parseJson(readFileSync(join(folder, 'bundle', 'month-end.json'), 'utf8'))).toMatchObject({
      period: PERIOD,
      sound: true,
    });
  });

  it('are the statements of all tenants as pages in a ZIP', async () => {
    const served = await world();
    const { signIn } = await serveConsole(served);
    const visitor = await signIn('read');
    const folder = temporaryFolder();
    await visitor.save(`/months/${PERIOD}/statements.zip`, join(folder, 'statements.zip'));
    execFileSync('unzip', ['-q', 'statements.zip'], { cwd: folder });
    const pages = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.html'));
    expect(pages.map((name) => name.replaceAll(/-[0-9a-f]{16}/g, '')).sort()).toEqual([
      'ws-1/acme.html',
      'ws-1/globex.html',
    ]);
    const acme = pages.find((name) => name.includes('acme')) ?? '';
    expect(readFileSync(join(folder, acme), 'utf8')).toContain('Acme Ltd');
  });

  it('have no bundle while nothing is closed', async () => {
    const { signIn } = await serveConsole(await world());
    const visitor = await signIn('read');
    expect((await visitor.get('/months/2026-02')).body).not.toContain('bundle.zip');
    expect((await visitor.get('/months/2026-02/bundle.zip')).status).toBe(400);
  });
});
