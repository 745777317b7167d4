/** Why nobody is told, beside what mutes or explains it. */
const REASONS: Readonly<Record<string, string>> = {
  seed: 'found by the first sync',
  unrouted: 'no channel takes it',
  given_up: 'its channels have failed',
  daily: 'told at most once a day',
  waning: 'its cause was gone in the last run',
  flapping: 'it comes and goes',
};

/** What mutes an alert, or the alert that explains it; null where neither does. */
export function mutedBy(because: string | null): { how: 'muted' | 'explained'; id: string } | null {
  const [, word, id] = /^(silence|inhibited):(.+)$/.exec(because ?? '') ?? [];
  return id === undefined ? null : { how: word === 'silence' ? 'muted' : 'explained', id };
}

/** Why nobody is told of an alert, in words; null where somebody is, or has heard it already. */
export function mutedWords(because: string | null): string | null {
  const by = mutedBy(because);
  return by === null ? (REASONS[because ?? ''] ?? null) : `${by.how} by ${by.id}`;
}

/** What can be typed next of an alert that is muted or explained; null: it is neither. */
export function commandBesideMute(because: string | null): string | null {
  const by = mutedBy(because);
  if (by === null) return null;
  return by.how === 'muted' ? `usage-ledger alerts unsilence ${by.id}` : `usage-ledger alerts explain ${by.id}`;
}
