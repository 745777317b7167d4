import { describeReads } from './reads.ts';

describeReads('document', ({ isSlow }) => isSlow === true);
