import { expect, it } from 'vitest';
import { CHANGE_CASES } from './change-cases.ts';
import { CHANGES } from './obeys.ts';

it('every change of the table is played by command, by operation and over HTTP', () => {
  expect(Object.keys(CHANGE_CASES).sort()).toEqual(CHANGES.map(({ name }) => name).sort());
});

it('every change writes by POST and is refused to those who may only read', () => {
  for (const { name, http, role } of CHANGES) {
    expect(http.method, name).toBe('POST');
    expect(['operate', 'finance'], name).toContain(role);
  }
});
