import { CHANGES_OF_ALERTS } from './alert-cases.ts';
import { describeChanges } from './obeys.ts';

describeChanges(CHANGES_OF_ALERTS);
