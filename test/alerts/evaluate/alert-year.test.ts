import { expect, test } from 'vitest';
import { expectedSubjects, expectedTally, plantTenants } from '../../long/alert-year/plant.ts';
import { simulateYear, subjects, tally } from '../../long/alert-year/simulate.ts';

test('five months of runs tell of every planted event once a stage, and of nothing else', {
  timeout: 60_000,
}, async () => {
  const months = ['2026-02'];
  const tenants = plantTenants(months, 2, 30);
  const bulge = '2026-04';
  const { runs, told } = await simulateYear({ tenants, from: '2026-01', to: '2026-05', bulge });

  expect(runs).toBe(4 * (31 + 28 + 31 + 30 + 31 + 3) + 1);
  expect(tally(told)).toEqual(expectedTally(months, 2));
  expect(subjects(told)).toEqual(expectedSubjects(tenants, bulge));
});
