import { describeChanges } from './obeys.ts';
import { CHANGES_OF_RATES } from './rate-cases.ts';

describeChanges(CHANGES_OF_RATES);
