import { describeChanges } from './obeys.ts';
import { CHANGES_OF_OUTLETS } from './outlet-cases.ts';

describeChanges(CHANGES_OF_OUTLETS);
