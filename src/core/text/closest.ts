/**
 * Returns the candidate that differs from the word `key` by the fewest edits. Returns undefined if each candidate
 * differs by more than a third of the letters.
 */
export function closest(key: string, candidates: readonly string[]): string | undefined {
  return nearest(key, candidates, 1)[0];
}

/**
 * Returns up to `most` candidates that differ from the word `key` by at most a third of the letters, the most similar
 * first. Case and punctuation are ignored.
 */
export function nearest(key: string, candidates: readonly string[], most: number): string[] {
  const from = normalizeWord(key);
  return candidates
    .flatMap((candidate) => {
      const to = normalizeWord(candidate);
      const few = Math.floor(to.length / 3);
      if (to === '' || Math.abs(to.length - from.length) > few) return [];
      const edits = editDistance(from, to);
      return edits <= few ? [{ candidate, edits }] : [];
    })
    .sort((a, b) => a.edits - b.edits)
    .slice(0, most)
    .map(({ candidate }) => candidate);
}

function normalizeWord(word: string): string {
  return word.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
}

/** Counts the insertions, deletions, replacements and swaps of neighbours that turn one word into the other. */
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
