import { expect, test } from 'vitest';
import { knownTenants } from '../../../../src/ledger/journal/staging/staging.ts';
import { openLedger } from '../../../support/open-ledger.ts';

test('the tenants of one workspace are read with their numbers, whatever their ids and however many', () => {
  const { connection } = openLedger();
  const workspace = connection.prepare('INSERT INTO workspaces (workspace_key, workspace_id, name) VALUES (?, ?, ?)');
  const tenant = connection.prepare('INSERT INTO tenants (tenant_key, workspace_key, tenant_id) VALUES (?, ?, ?)');
  const odd = ['a\nb', 'a\u0000b', ',', '"', 'müller', '😀', ' ', '~'.repeat(300), '\uffff'];
  const many = Array.from({ length: 9_000 }, (_, number) => `tenant-${number}`);
  connection.transaction(() => {
    workspace.run(1, 'ws-1', 'one');
    workspace.run(2, 'ws-2', 'two');
    for (const [index, id] of [...many, ...odd].entries()) tenant.run(index * 2 + 1, 1, id);
    tenant.run(2, 2, 'tenant-of-another');
  })();

  const index = knownTenants(connection, 1);

  expect(index.size).toBe(many.length + odd.length);
  for (const [at, id] of [...many, ...odd].entries()) expect([id, index.numberOf(id)]).toEqual([id, at * 2 + 1]);
  const highest = (many.length + odd.length) * 2 - 1;
  expect(index.numberOf('tenant-of-another')).toBe(highest + 1);
  expect(knownTenants(connection, 3).size).toBe(0);
});
