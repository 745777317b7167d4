import { settingPaths } from '../schema.ts';

/** What to do about a key that is no setting: the one that was meant, or the place where it belongs. */
export function suggestKey(key: string, groupPath: string): string {
  const group = groupPath.replace(/\[\d+\]/g, '[]');
  const paths = settingPaths();
  const siblings = paths.filter((path) => parentOf(path) === group).map(lastOf);
  const meant = closest(key, siblings);
  if (meant !== undefined) return `Did you mean ${meant}?`;
  const elsewhere = paths.find((path) => lastOf(path) === key);
  if (elsewhere !== undefined) return `It belongs elsewhere: ${elsewhere}`;
  return `Remove it; the settings here are ${siblings.join(', ')}`;
}

function parentOf(path: string): string {
  return path.split('.').slice(0, -1).join('.');
}

/** The name of the setting itself: `channels` for `alerts.channels`. */
function lastOf(path: string): string {
  return path.split('.').at(-1) ?? path;
}

/** The candidate that takes the fewest edits, when these are few for a word of this length. */
export function closest(key: string, candidates: readonly string[]): string | undefined {
  const plain = (word: string) => word.toLowerCase().replace(/[^a-z0-9]/g, '');
  const ranked = candidates
    .map((candidate) => ({ candidate, edits: editDistance(plain(key), plain(candidate)) }))
    .sort((a, b) => a.edits - b.edits);
  const best = ranked[0];
  return best !== undefined && best.edits <= Math.floor(plain(best.candidate).length / 3) ? best.candidate : undefined;
}

/** Levenshtein's distance: insertions, deletions and replacements from one word to the other. */
function editDistance(from: string, to: string): number {
  let previous = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const replaced = (previous[column - 1] ?? 0) + (from[row - 1] === to[column - 1] ? 0 : 1);
      current.push(Math.min(replaced, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[to.length] ?? 0;
}
