import { CHANGES_OF_MONEY } from './money-cases.ts';
import { describeChanges } from './obeys.ts';

describeChanges(CHANGES_OF_MONEY);
