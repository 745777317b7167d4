import { CHANGES_OF_MONTHS } from './month-cases.ts';
import { describeChanges } from './obeys.ts';

describeChanges(CHANGES_OF_MONTHS);
