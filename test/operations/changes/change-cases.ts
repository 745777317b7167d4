import { CHANGES_OF_ALERTS } from './alert-cases.ts';
import type { ChangeCase } from './change-case.ts';
import { CHANGES_OF_MONEY } from './money-cases.ts';
import { CHANGES_OF_MONTHS } from './month-cases.ts';
import { CHANGES_OF_OUTLETS } from './outlet-cases.ts';
import { CHANGES_OF_RATES } from './rate-cases.ts';
import { CHANGES_OF_RUNS } from './run-cases.ts';
import { CHANGES_OF_TENANTS } from './tenant-cases.ts';

/** One case for each change in the table of operations. */
export const CHANGE_CASES: Readonly<Record<string, ChangeCase>> = {
  ...CHANGES_OF_ALERTS,
  ...CHANGES_OF_MONTHS,
  ...CHANGES_OF_MONEY,
  ...CHANGES_OF_RATES,
  ...CHANGES_OF_TENANTS,
  ...CHANGES_OF_RUNS,
  ...CHANGES_OF_OUTLETS,
};
