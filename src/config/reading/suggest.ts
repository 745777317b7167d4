import { closest } from '../../core/text/closest.ts';
import { settingPaths } from './remedies.ts';

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
