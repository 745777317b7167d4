import { expect, test } from 'vitest';
import { dropTriggers } from '../support/open-ledger.ts';
import { playLedger, QUIET, type Step } from './ledger-play.ts';

test('a listing that has not changed is read once where two readings would have to agree', async () => {
  const { play, connection } = playLedger();
  const step: Step = { ...QUIET, consistency: 'twice' };
  expect(await play(step)).toMatchObject({ requests: 8, outcome: { entries: 16 } });
  expect(await play(step)).toMatchObject({ requests: 4, outcome: { entries: 0 } });
  // The next run need not compare the months that stay as they are.
  expect(connection.prepare('SELECT count(*) FROM periods WHERE figures_digest IS NULL').pluck().get()).toBe(0);
  expect(await play({ ...step, kind: 'reconcile' })).toMatchObject({ requests: 8, outcome: { entries: 0 } });
});

test('pages before the first that has changed are asked for once more', async () => {
  const { play } = playLedger();
  await play(QUIET);
  const change = (pick: number): Step => ({ ...QUIET, changes: [{ op: 'value', pick, before: 0 }] });
  expect(await play(change(15))).toMatchObject({ requests: 7, outcome: { records: 16, entries: 1 } });
  expect(await play(change(0))).toMatchObject({ requests: 4, outcome: { records: 16, entries: 1 } });
});

test('digests that are not those of the certificate count for nothing', async () => {
  const change: Step = { ...QUIET, changes: [{ op: 'value', pick: 3, before: 0 }] };
  const [one, other] = [playLedger(), playLedger()];
  await one.play(change);
  await other.play(QUIET);
  const digests = one.connection.prepare('SELECT page_digests FROM known_listings').pluck().get();
  other.connection.prepare('UPDATE known_listings SET page_digests = ?').run(digests);
  expect(await other.play(change)).toMatchObject({ outcome: { entries: 1 } });
});

test('who forges digests and certificate alike hides a change from runs, and not from a reconciliation', async () => {
  const change: Step = { ...QUIET, changes: [{ op: 'value', pick: 3, before: 0 }] };
  const [one, other] = [playLedger(), playLedger()];
  await one.play(change);
  await other.play(QUIET);
  const forged = one.connection.prepare('SELECT page_digests, content_digest FROM known_listings, walks').raw().get();
  const [pages, content] = forged as [Buffer, string];
  dropTriggers(other.connection);
  other.connection.prepare('UPDATE known_listings SET page_digests = ?').run(pages);
  other.connection.prepare('UPDATE walks SET content_digest = ?').run(content);
  expect(await other.play(change)).toMatchObject({ outcome: { entries: 0 } });
  expect(await other.play({ ...QUIET, kind: 'reconcile' })).toMatchObject({ outcome: { entries: 1 } });
});
