import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { copiesOf } from '../../commands/world.ts';
import { ledgerOfOperations } from '../../operations/ledger-of-operations.ts';
import { textOf } from './page-text.ts';
import { serveConsole } from './served-console.ts';

const world = copiesOf(ledgerOfOperations);
const PATH = '/tenants/ws-1/acme';
const NAMES =
  "SELECT display_name, external_ref, labels FROM finance_tenants WHERE workspace_id = 'ws-1' AND tenant_id = 'acme'";

describe('editing a tenant', () => {
  it('changes the name, the reference and the labels; an empty field removes', async () => {
    const served = await world();
    const { signIn } = await serveConsole(served);
    const visitor = await signIn('finance');
    const form = { display_name: ' Acme Limited ', external_ref: 'C-77', label: ['segment=large', '', 'note=a=b'] };
    await visitor.post(`${PATH}/edit`, form, { from: PATH });
    expect(served.query(NAMES)).toEqual([
      { display_name: 'Acme Limited', external_ref: 'C-77', labels: '{"note":"a=b","segment":"large"}' },
    ]);
    const { body } = await visitor.get(PATH);
    expect(textOf(body)).toContain('Saved.');
    expect(body).toContain('<h1>Acme Limited</h1>');
    expect([...body.matchAll(/name="label" value(?:="([^"]*)")?/g)].map(([, label = '']) => label)).toEqual([
      'note=a=b',
      'segment=large',
      '',
      '',
    ]);
    await visitor.post(`${PATH}/edit`, { display_name: '', external_ref: '', label: '' }, { from: PATH });
    const [left] = served.query(NAMES) as { display_name: null; external_ref: null; labels: string | null }[];
    expect([left?.display_name, left?.external_ref, left?.labels ?? '{}']).toEqual([null, null, '{}']);
  });

  it('says which line is not a label, and keeps what was entered', async () => {
    const served = await world();
    const { signIn } = await serveConsole(served);
    const visitor = await signIn('finance');
    for (const [label, fault] of [
      [['segment'], '"segment" is not a label. Write name=value.'],
      [['a=1', 'a=2'], 'The label "a" is given twice. Remove one.'],
    ] as const) {
      await visitor.post(`${PATH}/edit`, { display_name: 'Kept', label: [...label] }, { from: PATH });
      const { body } = await visitor.get(PATH);
      expect(textOf(body).replaceAll('&quot;', '"')).toContain(fault);
      expect(body).toContain('value="Kept"');
    }
    expect(served.query(NAMES)).toMatchObject([{ display_name: 'Acme Ltd' }]);
  });

  it('leaves names with active characters as they are unless they are changed', async () => {
    const served = await world();
    const names = ['tenant_id,display_name,tag', 'acme,Ac\u202eme,a\u200bb', ''].join('\n');
    writeFileSync(join(served.folder, 'odd.csv'), names);
    await served.run('tenants', 'import', 'odd.csv', '--workspace', 'ws-1');
    const { signIn } = await serveConsole(served);
    const visitor = await signIn('finance');
    const form = { display_name: 'Ac\\u202eme', external_ref: 'C-2', label: 'tag=a\\u200bb' };
    await visitor.post(`${PATH}/edit`, form, { from: PATH });
    const [found] = served.query(NAMES) as { display_name: string; external_ref: string; labels: string }[];
    expect([found?.display_name, found?.external_ref]).toEqual(['Ac\u202eme', 'C-2']);
    expect(JSON.parse(found?.labels ?? '')).toEqual({ tag: 'a\u200bb' });
  });

  it('is for finance alone', async () => {
    const { signIn } = await serveConsole(await world());
    const visitor = await signIn('operate');
    expect((await visitor.get(PATH)).body).not.toContain(`${PATH}/edit`);
    expect((await visitor.post(`${PATH}/edit`, { display_name: 'x' })).status).toBe(403);
  });
});
