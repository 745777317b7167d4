import { describeReads } from './reads.ts';

describeReads('document');
