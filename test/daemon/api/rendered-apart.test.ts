import { expect, it, vi } from 'vitest';
import { SlowReads } from '../../../src/daemon/api/slow-reads.ts';
import { copiesOf } from '../../commands/world.ts';
import { ledgerOfOperations, OTHER_CARD } from '../../operations/ledger-of-operations.ts';
import { serveApi } from './served-api.ts';

const worldOfOperations = copiesOf(ledgerOfOperations);

it('a large comparison of prices is rendered in the thread, as it would be here', async () => {
  const { ask } = await serveApi(await worldOfOperations());
  const bodies = vi.spyOn(SlowReads.prototype, 'body');
  const answer = await ask('/v1/rates/check', { method: 'POST', role: 'finance', body: { rates: [OTHER_CARD] } });
  expect(answer.json.months).toContainEqual(
    expect.objectContaining({ period: '2026-01', currency: 'EUR', now: expect.any(String), other: expect.any(String) }),
  );
  expect(answer.json.snapshot).toEqual((await ask('/v1/head')).json.snapshot);
  expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
  expect(bodies).toHaveBeenCalledTimes(1);
});

it('a change of prices answers with the comparison as the thread rendered it', async () => {
  const { ask } = await serveApi(await worldOfOperations());
  const post = (path: string, body: object) => ask(path, { method: 'POST', role: 'finance', body });
  const rates = [OTHER_CARD];
  const { snapshot: _, ...comparison } = (await post('/v1/rates/check', { rates, open_only: true })).json;
  const shown = await post('/v1/rates', { rates });
  const applied = await post('/v1/rates', { rates, dry_run: false });
  const head = (await ask('/v1/head')).json.snapshot;
  const change = { cards: 1, added: [OTHER_CARD.name], retired: ['standard'], notes: [] };
  expect(shown.json).toEqual({ ...change, ...comparison, applied: false, snapshot: head });
  expect(applied.json).toEqual({ ...change, ...comparison, applied: true, snapshot: head });
  // The members of the thread follow those that were rendered here.
  expect(applied.text).toMatch(/"snapshot".*"months"/s);
});
