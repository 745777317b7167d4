import { describeChanges } from './obeys.ts';
import { CHANGES_OF_RUNS } from './run-cases.ts';

describeChanges(CHANGES_OF_RUNS);
