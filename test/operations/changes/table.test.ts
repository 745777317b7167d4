import { expect, it } from 'vitest';
import { CHANGE_CASES } from './change-cases.ts';
import { CHANGES } from './obeys.ts';

/** The changes that people on call may make, by docs/api.md. All others change bills. */
const OF_OPERATORS = [
  ...['alerts.acknowledge', 'alerts.label', 'silences.add', 'silences.end', 'plans.add'],
  ...['messages.replay', 'channels.test', 'workspaces.sync', 'outlets.pause', 'outlets.resume'],
];

/** The changes that their commands show first, or show with `--dry-run`. */
const SHOWN_FIRST = [
  ...['rates.apply', 'rates.clear', 'reconciliations.compare', 'outlets.start'],
  ...['tenants.import', 'tenants.forget'],
];

it('every change of the table is played by command, by operation and over HTTP', () => {
  expect(Object.keys(CHANGE_CASES).sort()).toEqual(CHANGES.map(({ name }) => name).sort());
});

it('every change writes by POST, with the role of the documentation', () => {
  for (const { name, http, role } of CHANGES) {
    expect(http.method, name).toBe('POST');
    expect(role, name).toBe(OF_OPERATORS.includes(name) ? 'operate' : 'finance');
  }
});

it('a change that its command shows first can be tried', () => {
  const tried = CHANGES.filter(({ input }) => 'dry_run' in input.shape).map(({ name }) => name);
  expect(tried.sort()).toEqual(SHOWN_FIRST.toSorted());
});
