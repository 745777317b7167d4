import { expect, test } from 'vitest';
import { composeReviews } from '../../../../src/alerts/summaries/compose-reviews.ts';
import { routesOf } from '../../../../src/alerts/track/routes.ts';
import { RULES, SEVERITIES } from '../../../../src/core/text/alert-words.ts';
import { publish, usageRecord } from '../../../support/open-ledger.ts';
import { setRoutes } from '../../../support/run/real-run.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';
import { bringIn, exported, freshLedger } from './moving-world.ts';

const channels = routesOf([
  {
    ...{ type: 'log', name: 'log' },
    route: {
      ...{ severities: SEVERITIES, rules: RULES, digestHour: 7, followUps: 'digest' },
      ...{ weeklyDigest: 'monday', monthEndDigest: false },
    },
  },
]);

test('a week that the old ledger has reviewed is not reviewed again, and the next one by who has the workspace then', async () => {
  const [origin, target] = [freshLedger(), freshLedger()];
  for (const connection of [origin, target]) setRoutes(connection, channels);
  const review = (connection: typeof origin, nowMs: number): string[] => {
    composeReviews(connection, { nowMs, settleHours: 48 });
    const payload = connection.prepare('SELECT payload FROM outbox ORDER BY rowid DESC LIMIT 1').pluck().get();
    const { workspaces } = JSON.parse(String(payload ?? '{"workspaces":[]}')) as {
      workspaces: { workspace_id: string }[];
    };
    return workspaces.map(({ workspace_id }) => workspace_id);
  };
  for (const workspaceId of ['ws-1', 'ws-2']) {
    await publish(origin, [usageRecord('acme', 5)], { workspaceId, nowMs: Date.UTC(2026, 2, 4) });
  }
  expect(review(origin, Date.UTC(2026, 2, 9, 7))).toEqual(['ws-1', 'ws-2']);
  const nowMs = Date.UTC(2026, 2, 10);
  bringIn(target, await exported(origin, temporaryFolder(), nowMs), nowMs);
  expect(review(target, nowMs)).toEqual([]);
  expect(review(target, Date.UTC(2026, 2, 16, 7))).toEqual(['ws-1']);
  expect(review(origin, Date.UTC(2026, 2, 16, 7))).toEqual(['ws-2']);
  origin.close();
  target.close();
});
