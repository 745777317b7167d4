import { describeReads } from './reads.ts';

describeReads('list');
