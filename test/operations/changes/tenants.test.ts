import { describeChanges } from './obeys.ts';
import { CHANGES_OF_TENANTS } from './tenant-cases.ts';

describeChanges(CHANGES_OF_TENANTS);
