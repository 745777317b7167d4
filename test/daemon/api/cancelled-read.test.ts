import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { loadConfig } from '../../../src/config/load.ts';
import { SlowReads } from '../../../src/daemon/api/slow-reads.ts';
import { compareInvoices } from '../../../src/operations/reconciliations/compare-invoices.ts';
import { Context } from '../../../src/wiring/context.ts';
import { copiesOf, FIRST, workspaceSettings } from '../../commands/world.ts';
import { ledgerOfOperations } from '../../operations/ledger-of-operations.ts';

const worldOfOperations = copiesOf(ledgerOfOperations);

it('a read that waits for the service ends when its caller has gone', async () => {
  const asked = Promise.withResolvers<void>();
  const service = createServer(() => asked.resolve()).listen(0, '127.0.0.1');
  await once(service, 'listening');
  onTestFinished(() => {
    service.closeAllConnections();
    service.close();
  });
  const world = await worldOfOperations();
  const url = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
  world.configure({ workspaces: [{ ...workspaceSettings(world.sandbox, FIRST), base_url: url, embed_url: url }] });
  const context = new Context(await loadConfig({ file: undefined, env: {}, cwd: world.folder }));
  const reads = new SlowReads();
  onTestFinished(async () => {
    await reads.stop();
    await context.close();
  });
  const file = { name: 'january.csv', bytes: Buffer.from('tenant_id,net\nacme,8.50\n') };
  const input = compareInvoices.input.parse({ file, period: '2026-01', amount_column: 'net' });
  const caller = new AbortController();
  const reading = reads.of(context, { name: 'ada', kind: 'person' }, caller.signal)(compareInvoices.name, input);
  const failed = expect(reading).rejects.toMatchObject({ code: 'cancelled' });
  await asked.promise;
  caller.abort();
  await failed;
});
