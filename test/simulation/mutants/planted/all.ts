import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CLOCKS } from './clocks.ts';
import { COPIES } from './copies.ts';
import { FIGURES, FIGURES_OF_WEEKS } from './figures.ts';
import { MESSAGES, MESSAGES_OF_WEEKS } from './messages.ts';
import { MONEY } from './money.ts';
import { NEWS, NEWS_OF_WEEKS } from './news.ts';
import { RUNS, RUNS_OF_DAYS } from './runs.ts';

/** Defects that the program has had, or could have: by the file that each is in, and by name. */
export type Planted = Record<string, Record<string, Defect>>;

/** What a user would notice; what stands once in the file, and what takes its place; a second such pair where one does not do. */
type Defect = [harm: string, was: string, becomes: string, alsoWas?: string, alsoBecomes?: string];

interface Placed {
  name: string;
  /** The longest world that is played. */
  days: number;
  file: string;
  defect: Defect;
}

export const PLANTED: readonly Placed[] = [
  ...[CLOCKS, RUNS, FIGURES, MESSAGES, NEWS, MONEY, COPIES].flatMap((planted) => placed(planted, 1)),
  ...placed(RUNS_OF_DAYS, 3),
  ...[FIGURES_OF_WEEKS, MESSAGES_OF_WEEKS, NEWS_OF_WEEKS].flatMap((planted) => placed(planted, 60)),
];

function placed(planted: Planted, days: number): Placed[] {
  return Object.entries(planted).flatMap(([file, defects]) =>
    Object.entries(defects).map(([name, defect]) => ({ name, days, file, defect })),
  );
}

/** The text of the file with the defect in it. */
export function plant({ name, file, defect }: Placed, root: string): string {
  const [, was, becomes, alsoWas = '', alsoBecomes = ''] = defect;
  let text = readFileSync(join(root, file), 'utf8');
  for (const [from, to] of [[was, becomes] as const, [alsoWas, alsoBecomes] as const]) {
    if (from === '') continue;
    if (text.split(from).length !== 2) throw new Error(`${name}: ${file} does not have once: ${from}`);
    text = text.replace(from, () => to);
  }
  return text;
}
