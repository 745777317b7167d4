import type Database from 'better-sqlite3';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { acceptAll } from '../../../../src/alerts/outbox/told-by.ts';
import { OPEN_ALERTS } from '../../../../src/alerts/track/open-alerts.ts';
import { isoTime } from '../../../../src/core/clock.ts';
import { setCards } from '../../../../src/ledger/journal/charges/set-cards.ts';
import { interfere } from '../../../publish/people.ts';
import { publish, usageRecord } from '../../../support/open-ledger.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';
import { HistoryPlayer } from '../../model/history-player.ts';
import { histories } from '../../model/steps.ts';
import { awake, bringIn, cardsOf, exported, faultsOf, freshLedger, rootsOf, viewsOf } from './moving-world.ts';

const MOVES = Number(process.env.MOVE_HISTORIES ?? 3);
const STEPS = Number(process.env.MOVE_STEPS ?? 20);
const SEED = Number(process.env.MOVE_SEED ?? Date.now() % 0x7fff_ffff);
/** Steps after the move. */
const MORE_STEPS = 8;

test('a workspace with any history goes on in another ledger as if it had stayed, and nothing of it is lost', {
  timeout: Math.max(120_000, MOVES * STEPS * 1_000),
}, async () => {
  const folder = temporaryFolder();
  const steps = histories(STEPS + MORE_STEPS).map((all) => all.map(awake));
  const people = fc.array(fc.nat(999), { minLength: STEPS, maxLength: STEPS });
  let compared = 0;
  await fc.assert(
    fc.asyncProperty(steps, people, async (all, doings) => {
      const [stays, goes, target] = [freshLedger(), freshLedger(), freshLedger()];
      try {
        const [staying, going] = [new HistoryPlayer(stays), new HistoryPlayer(goes)];
        for (const [index, step] of all.slice(0, STEPS).entries()) {
          for (const [connection, player] of [
            [stays, staying],
            [goes, going],
          ] as const) {
            await player.take(step);
            await interfere(connection, doings[index] ?? 0, player.nowMs);
            acceptAll(connection, isoTime(player.nowMs));
          }
        }
        if (
          goes.prepare("SELECT 1 FROM workspaces WHERE workspace_id = 'ws-1' AND first_run_key > 0").get() === undefined
        )
          return;
        const before = viewsOf(goes, 'ws-1');
        const roots = rootsOf(goes, 'ws-1');
        const open = openAlertsOf(goes);
        const file = await exported(goes, folder, going.nowMs);
        expect(faultsOf(goes)).toEqual([]);
        expect(openAlertsOf(goes)).toEqual([]);
        await publish(target, [usageRecord('acme', 7)], { workspaceId: 'ws-0', nowMs: going.nowMs - 1 });
        setCards(target, { cards: cardsOf(goes), source: 'configuration', nowMs: going.nowMs });
        endOthersSilences(stays);
        const others = viewsOf(target, 'ws-0');
        const { links } = bringIn(target, file, going.nowMs);
        expect(viewsOf(target, 'ws-1')).toEqual(before);
        expect(viewsOf(target, 'ws-0')).toEqual(others);
        expect(rootsOf(target, 'ws-1')).toEqual(roots);
        expect(openAlertsOf(target)).toEqual(open);
        // What waits is sent from where it waits.
        expect(target.prepare("SELECT 1 FROM outbox WHERE state IN ('pending', 'held')").get()).toBeUndefined();
        compared += links;

        going.moveTo(target);
        for (const step of all.slice(STEPS)) {
          if (step.do !== 'wait' && step.workspace !== 0) continue;
          await staying.take(step);
          for (const { ledger, model } of await going.take(step)) expect(ledger, step.do).toEqual(model);
          acceptAll(stays, isoTime(staying.nowMs));
          acceptAll(target, isoTime(going.nowMs));
          expect(viewsOf(target, 'ws-1', true), step.do).toEqual(viewsOf(stays, 'ws-1', true));
        }
        expect(faultsOf(target)).toEqual([]);
      } finally {
        for (const connection of [stays, goes, target]) connection.close();
      }
    }),
    { seed: SEED, numRuns: MOVES, endOnFailure: true },
  );
  expect(compared, `seed ${SEED}`).toBeGreaterThan(0);
});

/** Those of all workspaces for a tenant that ws-1 has not had do not go along. */
function endOthersSilences(connection: Database.Database): void {
  connection.exec(`UPDATE silences SET ended_at = created_at WHERE workspace_key IS NULL AND tenant NOT IN (
    SELECT tenant_id FROM tenants JOIN workspaces USING (workspace_key) WHERE workspace_id = 'ws-1')`);
}

/** What is open of the workspace, as `status` and `alerts list` count it. */
function openAlertsOf(connection: Database.Database): unknown[] {
  return connection
    .prepare(
      `SELECT a.alert_id FROM alerts a JOIN workspaces w USING (workspace_key)
       WHERE w.workspace_id = 'ws-1' AND ${OPEN_ALERTS} ORDER BY 1`,
    )
    .pluck()
    .all();
}
