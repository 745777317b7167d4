import { withThousands } from './thousands.ts';

/** The first of many, and how many more there are: `a, b and 1,200 more`. `count` is of all where not all are at hand. */
export function firstOf(names: readonly string[], most: number, count = names.length): string {
  const shown = names.slice(0, most).join(', ');
  return count > most ? `${shown} and ${withThousands(String(count - most))} more` : shown;
}
