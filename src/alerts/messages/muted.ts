/** Why nobody is notified of an alert, in words. `mutedBy` reads the reasons that name a silence or another alert. */
const REASONS: Readonly<Record<string, string>> = {
  seed: 'found by the first sync',
  unrouted: 'not routed to any channel',
  given_up: 'delivery failed on every channel',
  daily: 'notified at most once a day',
  clearing: 'its cause was gone in the last run',
  flapping: 'it begins and ends repeatedly',
};

/** Returns the silence that mutes an alert or the alert that inhibits it; null if neither does. */
export function mutedBy(because: string | null): { how: 'muted' | 'inhibited'; id: string } | null {
  const [, word, id] = /^(silence|inhibited):(.+)$/.exec(because ?? '') ?? [];
  return id === undefined ? null : { how: word === 'silence' ? 'muted' : 'inhibited', id };
}

/** Explains why nobody is notified of an alert; null if somebody is or was notified. */
export function mutedWords(because: string | null): string | null {
  const by = mutedBy(because);
  return by === null ? (REASONS[because ?? ''] ?? null) : `${by.how} by ${by.id}`;
}

/** Returns the next command for a muted or inhibited alert; null for other alerts. */
export function nextCommandWhenMuted(because: string | null): string | null {
  const by = mutedBy(because);
  if (by === null) return null;
  return by.how === 'muted' ? `usage-ledger alerts unsilence ${by.id}` : `usage-ledger alerts explain ${by.id}`;
}
