/** The candidate that takes the fewest edits, when these are few for a word of this length. */
export function closest(key: string, candidates: readonly string[]): string | undefined {
  const plain = (word: string) => word.toLowerCase().replace(/[^a-z0-9]/g, '');
  const ranked = candidates
    .map((candidate) => ({ candidate, edits: editDistance(plain(key), plain(candidate)) }))
    .sort((a, b) => a.edits - b.edits);
  const best = ranked[0];
  return best !== undefined && best.edits <= Math.floor(plain(best.candidate).length / 3) ? best.candidate : undefined;
}

/** Insertions, deletions, replacements and swaps of two neighbours from one word to the other. */
function editDistance(from: string, to: string): number {
  let beforeThat: number[] = [];
  let previous = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const replaced = (previous[column - 1] ?? 0) + (from[row - 1] === to[column - 1] ? 0 : 1);
      const isSwap = row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      const swapped = isSwap ? (beforeThat[column - 2] ?? 0) + 1 : replaced;
      current.push(Math.min(replaced, swapped, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1));
    }
    beforeThat = previous;
    previous = current;
  }
  return previous[to.length] ?? 0;
}
