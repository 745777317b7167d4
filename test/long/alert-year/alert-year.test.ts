import { expect, test } from 'vitest';
import { periodRange } from '../../../src/core/period.ts';
import { expectedSubjects, expectedTally, plantTenants } from './plant.ts';
import { simulateYear, subjects, tally } from './simulate.ts';

test('a year of 500 tenants tells of every planted event once a stage, and of nothing else', {
  timeout: 3_600_000,
}, async () => {
  const months = periodRange('2026-02', '2026-08');
  const tenants = plantTenants(months, 6, 500);
  const bulge = '2026-10';
  const { runs, told } = await simulateYear({ tenants, from: '2026-01', to: '2026-12', bulge });

  expect(runs).toBe(4 * (365 + 3) + 1);
  expect(tally(told)).toEqual(expectedTally(months, 6));
  expect(subjects(told)).toEqual(expectedSubjects(tenants, bulge));
});
