import { CLOCKS } from './clocks.ts';
import { MONEY } from './money.ts';
import { MOVES } from './moves.ts';
import { OUTBOX } from './outbox.ts';
import { REPLICA } from './replica.ts';
import { RUNS } from './runs.ts';
import { WORDS } from './words.ts';

/** `from`, which stands once in `file`, becomes `to`. */
interface Edit {
  file: string;
  from: string;
  to: string;
}

/** A defect that the program has had, or could have. */
export interface Planted {
  name: string;
  /** What a user would notice. */
  harm: string;
  /** The longest world that is played; absent: one day. */
  days?: number;
  edits: readonly Edit[];
}

/** Each is put back alone, and the simulation has two minutes to find it. */
export const PLANTED: readonly Planted[] = [...CLOCKS, ...RUNS, ...OUTBOX, ...WORDS, ...MONEY, ...MOVES, ...REPLICA];
