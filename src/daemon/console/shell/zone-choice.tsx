import { UTC } from '../../../core/time-zone.ts';
import { BACK_FIELD } from './change.ts';
import { FormToken } from './form.tsx';
import type { Visit } from './visit.ts';

export const ZONE_FIELD = 'zone';
export const ZONE_PATH = '/time-zone';

/**
 * Shows which time zone the times are in, and offers other zones: the configured one, UTC and, if the script runs, the
 * browser's.
 */
export function ZoneChoice({ visit: { session, timezone, configuredZone, path } }: { visit: Visit }) {
  const text = 'Months and days of usage are in UTC.';
  if (session === null) {
    return (
      <p>
        Times are in {timezone}. {text}
      </p>
    );
  }
  const zones = [...new Set([configuredZone, UTC, timezone])];
  return (
    <form method="post" action={ZONE_PATH} class="zone">
      <FormToken session={session} />
      <input type="hidden" name={BACK_FIELD} value={path} />
      <label>
        Times are in{' '}
        <select name={ZONE_FIELD} data-zones>
          {zones.map((zone) => (
            <option key={zone} value={zone} selected={zone === timezone}>
              {zone}
            </option>
          ))}
        </select>
      </label>
      <button type="submit">Show</button>
      <span>{text}</span>
    </form>
  );
}
