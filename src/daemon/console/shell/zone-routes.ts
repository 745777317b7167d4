import type { FastifyInstance, FastifyRequest } from 'fastify';
import { UTC } from '../../../core/time-zone.ts';
import { ApiError } from '../../api/problem.ts';
import { fieldsOf, requireForm } from '../sign-in/form-guard.ts';
import { cookieOf, isSecure } from '../sign-in/sessions.ts';
import { backPath } from './change.ts';
import { ZONE_FIELD, ZONE_PATH } from './zone-choice.tsx';

const ZONE_COOKIE = 'usage_ledger_zone';
const YEAR_SECONDS = 31_536_000;
/**
 * Finds the cookie with the chosen zone. Its length is limited because IANA names have at most a few dozen characters.
 */
const COOKIE = new RegExp(`(?:^|; *)${ZONE_COOKIE}=([\\w+%-]{1,100})(?:;|$)`);

/** Returns the time zone that the visitor has chosen in this browser; `configured` if none was chosen. */
export function zoneOf({ headers }: Pick<FastifyRequest, 'headers'>, configured: string): string {
  const [, chosen = ''] = COOKIE.exec(headers.cookie ?? '') ?? [];
  const zone = chosen.replaceAll(/%2F/gi, '/');
  return isKnownZone(zone) ? zone : configured;
}

let known: ReadonlySet<string> | null = null;

/**
 * Reports whether this is a listed zone in the listed spelling. Other spellings are refused because each of them would
 * be cached as a zone of its own.
 */
function isKnownZone(zone: string): boolean {
  known ??= new Set([UTC, ...Intl.supportedValuesOf('timeZone')]);
  return known.has(zone);
}

/** Serves the form that chooses the time zone. The choice is stored in a cookie of the browser only. */
export function addZoneChoice(app: FastifyInstance, { publicUrl }: { publicUrl: () => string | null }): void {
  app.post(ZONE_PATH, { config: { access: 'form', role: 'read' } }, (request, reply) => {
    requireForm(request, publicUrl());
    const zone = fieldsOf(request).get(ZONE_FIELD) ?? '';
    if (zone !== '' && !isKnownZone(zone)) {
      const message = `${JSON.stringify(zone)} is not the name of a time zone`;
      throw new ApiError(400, 'bad_request', message, { hint: 'write an IANA name, such as Europe/Berlin' });
    }
    const maxAgeSeconds = zone === '' ? 0 : YEAR_SECONDS;
    const secure = isSecure(request.headers);
    const cookie = cookieOf(ZONE_COOKIE, encodeURIComponent(zone), { maxAgeSeconds, secure });
    return reply.header('set-cookie', cookie).redirect(backPath(request, '/'), 303);
  });
}
