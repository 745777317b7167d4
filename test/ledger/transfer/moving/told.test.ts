import type Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { askDue, asksAreDue } from '../../../../src/alerts/book/ask.ts';
import { evaluateStale } from '../../../../src/alerts/evaluate/evaluate-self.ts';
import { acceptAll } from '../../../../src/alerts/outbox/told-by.ts';
import { routesOf } from '../../../../src/alerts/track/routes.ts';
import { isoTime } from '../../../../src/core/clock.ts';
import { publish, usageRecord } from '../../../support/open-ledger.ts';
import { setRoutes } from '../../../support/run/real-run.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';
import { bringIn, exported, freshLedger } from './moving-world.ts';

const NOON = Date.UTC(2026, 2, 10, 12);
const HOUR_MS = 3_600_000;

/** A workspace that is stale moves; returns what the channels of the new place hear of that, without any run. */
async function heardAfterMove(before: readonly string[], after: readonly string[]): Promise<string[]> {
  const [origin, target] = [freshLedger(), freshLedger()];
  setRoutes(origin, channels(before));
  setRoutes(target, channels(after));
  await publish(origin, [usageRecord('acme', 5)], { nowMs: NOON - 48 * HOUR_MS });
  evaluateStale(origin, [{ workspaceId: 'ws-1', sinceMs: 48 * HOUR_MS, staleAfterMs: HOUR_MS }], NOON);
  acceptAll(origin, isoTime(NOON));
  expect(toldIn(origin)).toEqual(before.map((channel) => `${channel} opened`));
  bringIn(target, await exported(origin, temporaryFolder(), NOON), NOON + HOUR_MS);
  const nowMs = NOON + 2 * HOUR_MS;
  const known = toldIn(target).length;
  if (asksAreDue(target, nowMs)) askDue(target, nowMs);
  const heard = toldIn(target).slice(known);
  expect(asksAreDue(target, nowMs + 1)).toBe(false);
  for (const connection of [origin, target]) connection.close();
  return heard;
}

const channels = (names: readonly string[]) => routesOf(names.map((name) => ({ type: 'log' as const, name })));

function toldIn(connection: Database.Database): string[] {
  return connection.prepare("SELECT channel || ' ' || event FROM outbox ORDER BY rowid").pluck().all() as string[];
}

test('a channel that is new where a workspace goes is told of what is open, and who was told of it hears nothing', async () => {
  expect(await heardAfterMove(['a'], ['a', 'b'])).toEqual(['b opened']);
  expect(await heardAfterMove(['a'], ['a'])).toEqual([]);
});

test('what nobody was told of is told where a workspace goes, before its next run', async () => {
  expect(await heardAfterMove([], ['b'])).toEqual(['b opened']);
});
