import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { AcknowledgeRequest } from '../../alerts/actions.ts';
import { ACKNOWLEDGE_PATH, isSigned } from '../../alerts/messages/acknowledge-link.ts';
import { alertFacts } from '../../alerts/messages/fact-list.ts';
import { alertMoments } from '../../alerts/queries/alert-moments.ts';
import { type AlertRecord, alertRecord } from '../../alerts/queries/alert-record.ts';
import { requireAlerts } from '../../alerts/state/alert-store.ts';
import type { WallClock } from '../../core/clock.ts';
import { AppError } from '../../core/errors.ts';
import { htmlText } from '../../core/text/html-text.ts';
import { MAX_NAME_CHARACTERS, personName } from '../../core/text/person-name.ts';
import { formatLocalTime } from '../../core/time-zone.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { HTML_TYPE, pageOf } from '../../reports/page/page-parts.ts';

export interface AcknowledgePageOptions {
  connection: LedgerDb;
  /** The key that signs the links; null if there is none, which makes all links invalid. */
  linkKey: string | null;
  acknowledge(request: AcknowledgeRequest): Promise<unknown>;
  clock: WallClock;
  /** Returns the IANA time zone of the pages. */
  timezone: () => string;
}

export const ACKNOWLEDGE_ROUTE = `${ACKNOWLEDGE_PATH}/:id/:episode/:channel/:signature`;
const FORM = 'application/x-www-form-urlencoded';
const MAX_FORM_BYTES = 4096;
/** The page contains only its own form. */
const FORM_PAGE_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

type LinkParams = Record<'id' | 'episode' | 'channel' | 'signature', string>;

/**
 * Serves the page behind the signed links in messages: one alert or a group, and a form. GET changes nothing, because mail
 * scanners follow links; POST acknowledges. A link works while its alert is open.
 */
export function addAcknowledgePage(app: FastifyInstance, options: AcknowledgePageOptions): void {
  const { connection, linkKey, acknowledge, clock, timezone } = options;
  app.addContentTypeParser(FORM, { parseAs: 'string', bodyLimit: MAX_FORM_BYTES }, (_request, body, done) => {
    done(null, Object.fromEntries(new URLSearchParams(String(body))));
  });
  const openOf = (request: FastifyRequest): AlertRecord[] | null => {
    const { id, episode, channel, signature } = request.params as LinkParams;
    const target = { id, episode: Number(episode), channel };
    if (linkKey === null || !isSigned(linkKey, target, signature)) return null;
    return findAlerts(connection, id)
      .filter((alert) => isOpenState(alert.state) && (target.episode === 0 || alert.episode === target.episode))
      .map((alert) => alertRecord(connection, alert.alertId));
  };
  const answer = (reply: FastifyReply, code: number, page: string): FastifyReply =>
    reply.code(code).header('content-security-policy', FORM_PAGE_POLICY).type(HTML_TYPE).send(page);
  app.get(ACKNOWLEDGE_ROUTE, (request, reply) => {
    const open = openOf(request);
    if (open === null) return reply.code(404).send({ error: 'not_found' });
    // Somebody who has signed in gets the page with the chart and all actions.
    const [only] = open;
    if (request.session !== null && open.length === 1 && only !== undefined) {
      return reply.redirect(`/alerts/${only.alert.alert_id}`, 303);
    }
    return open.length === 0
      ? answer(reply, 410, EXPIRED_PAGE)
      : answer(reply, 200, alertPage({ connection, timezone: timezone() }, open));
  });
  app.post(ACKNOWLEDGE_ROUTE, async (request, reply) => {
    const open = openOf(request);
    if (open === null) return reply.code(404).send({ error: 'not_found' });
    if (open.length === 0) return answer(reply, 410, EXPIRED_PAGE);
    const { id, channel } = request.params as LinkParams;
    const { name = '', note = '' } = request.body as { name?: string; note?: string };
    const by = personName(name);
    if (by === null)
      return answer(reply, 400, alertPage({ connection, timezone: timezone() }, open, 'Enter your name.'));
    if (open.some(({ alert }) => alert.state === 'firing')) {
      const who = `${by} (link sent to ${channel})`;
      try {
        await acknowledge({ alertId: id, by: who, note: note.trim() || null, nowMs: clock.now() });
      } catch (error) {
        // The alert has ended in the meantime, or belongs to another ledger.
        if (error instanceof AppError && !error.retryable) return answer(reply, 410, EXPIRED_PAGE);
        throw error;
      }
    }
    return reply.code(303).header('location', request.url).send();
  });
}

function findAlerts(connection: LedgerDb, id: string): ReturnType<typeof requireAlerts> {
  try {
    return requireAlerts(connection, id);
  } catch (error) {
    if (error instanceof AppError && error.code === 'unknown_alert') return [];
    throw error;
  }
}

function isOpenState(state: string): boolean {
  return state === 'firing' || state === 'acknowledged';
}

const EXPIRED_PAGE = pageOf('Link expired', '<p>The alert has ended, or its message is no longer stored.</p>');

function alertPage(
  { connection, timezone }: { connection: LedgerDb; timezone: string },
  open: readonly AlertRecord[],
  fault = '',
): string {
  const momentsOf = alertMoments(connection, timezone);
  const sections = open.map((record) => {
    const { notification } = momentsOf(record.alert).now;
    const rows = alertFacts(notification).map(
      ({ label, value }) => `<tr><th scope="row">${htmlText(label)}</th><td>${htmlText(value)}</td></tr>`,
    );
    const seen = record.transitions.findLast(({ change }) => change === 'acknowledged');
    const isSeen = record.alert.state === 'acknowledged' && seen !== undefined;
    const who = isSeen ? `<p>Acknowledged by ${htmlText(seen.actor)}, ${formatLocalTime(seen.at, timezone)}.</p>` : '';
    const facts = open.length === 1 ? `<table>${rows.join('\n')}</table>` : '';
    return `<p>${htmlText(notification.summary)}</p>\n${facts}${who}`;
  });
  const isFiring = open.some(({ alert }) => alert.state === 'firing');
  return pageOf(
    open.length === 1 ? 'Alert' : `${open.length} alerts`,
    `${sections.join('\n')}\n${isFiring ? form(fault) : ''}`,
  );
}

function form(fault: string): string {
  return `<form method="post">
${fault === '' ? '' : `<p><strong>${fault}</strong></p>`}
<p><label>Your name <input name="name" required maxlength="${MAX_NAME_CHARACTERS}" autocomplete="name"></label></p>
<p><label>Note <input name="note" maxlength="500"></label></p>
<p><button>Acknowledge</button></p>
</form>`;
}
