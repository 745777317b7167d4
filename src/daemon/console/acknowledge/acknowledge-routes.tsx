import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import type { AcknowledgeRequest } from '../../../alerts/actions.ts';
import { ACKNOWLEDGE_PATH, isSigned } from '../../../alerts/messages/acknowledge-link.ts';
import { createAlertMoments } from '../../../alerts/queries/alert-moments.ts';
import { type AlertRecord, requireAlertRecord } from '../../../alerts/queries/alert-record.ts';
import { requireAlerts } from '../../../alerts/state/alert-store.ts';
import type { WallClock } from '../../../core/clock.ts';
import { AppError } from '../../../core/errors.ts';
import { personName } from '../../../core/text/person-name.ts';
import type { LedgerDb } from '../../../ledger/store/ledger-db.ts';
import { ApiError } from '../../api/problem.ts';
import { limitRequests } from '../../http/request-limit.ts';
import { sentence } from '../shell/fault-text.ts';
import { alertLink } from '../shell/formats.ts';
import { sendPage } from '../shell/render-page.ts';
import { AcknowledgePage, DeadLinkPage } from './acknowledge-page.tsx';

export interface AcknowledgeOptions {
  connection: LedgerDb;
  /** The key that signs the links. Null if there is no key; all links are then invalid. */
  linkKey: string | null;
  acknowledge(request: AcknowledgeRequest): Promise<unknown>;
  clock: WallClock;
  /** Returns the IANA time zone of the pages. */
  timezone: () => string;
}

export const ACKNOWLEDGE_ROUTE = `${ACKNOWLEDGE_PATH}/:id/:episode/:channel/:signature`;
const FORM = 'application/x-www-form-urlencoded';
const MAX_ACKNOWLEDGE_BYTES = 4096;
/** The maximum number of requests per minute from one IP address. Many people of a company may share an address. */
const LINKS_PER_MINUTE = 120;

type LinkParams = Record<'id' | 'episode' | 'channel' | 'signature', string>;

/**
 * Serves the page behind the signed links in messages. It shows one alert or a group of alerts, and a form that
 * acknowledges them. GET changes nothing, because mail scanners follow links; POST acknowledges. A link is valid while
 * one of its alerts is open.
 */
export async function addAcknowledging(app: FastifyInstance, options: AcknowledgeOptions): Promise<void> {
  await app.register(serveLinks, options);
}

const serveLinks: FastifyPluginAsync<AcknowledgeOptions> = async (app, options) => {
  const { connection, acknowledge, clock, timezone } = options;
  app.addContentTypeParser(FORM, { parseAs: 'string', bodyLimit: MAX_ACKNOWLEDGE_BYTES }, (_request, body, done) => {
    done(null, new URLSearchParams(String(body)));
  });
  await limitRequests(app, {
    perMinute: LINKS_PER_MINUTE,
    callerOf: ({ ip }) => ip,
    message: `more than ${LINKS_PER_MINUTE} links within a minute`,
  });
  app.setErrorHandler((error, _request, reply) => {
    if (!(error instanceof ApiError) || error.status !== 429) throw error;
    const text = `This address has opened ${error.message}. ${sentence(error.hint ?? '')}`;
    return sendPage(reply, <DeadLinkPage title="Too many requests">{text}</DeadLinkPage>, error.status);
  });
  const pageOf = (open: readonly AlertRecord[], fault: string | null): VNode => {
    const momentsOf = createAlertMoments(connection, timezone());
    const alerts = open.map((record) => ({ record, notification: momentsOf(record.alert).now.notification }));
    return <AcknowledgePage alerts={alerts} timezone={timezone()} fault={fault} />;
  };
  app.get(ACKNOWLEDGE_ROUTE, (request, reply) => {
    const open = linkedAlerts(request, options);
    if (open === null) return sendInvalid(reply);
    // A visitor who has signed in is sent to the alert's own page, which has the chart and all actions.
    const [only] = open;
    if (request.session !== null && open.length === 1 && only !== undefined) {
      return reply.redirect(alertLink(only.alert.alert_id), 303);
    }
    return open.length === 0 ? sendExpired(reply) : sendPage(reply, pageOf(open, null));
  });
  app.post(ACKNOWLEDGE_ROUTE, async (request, reply) => {
    const open = linkedAlerts(request, options);
    if (open === null) return sendInvalid(reply);
    if (open.length === 0) return sendExpired(reply);
    const { id, channel } = request.params as LinkParams;
    const fields = request.body instanceof URLSearchParams ? request.body : new URLSearchParams();
    const by = personName(fields.get('name') ?? '');
    if (by === null) return sendPage(reply, pageOf(open, 'Enter your name.'), 400);
    if (open.some(({ alert }) => alert.state === 'firing')) {
      const note = (fields.get('note') ?? '').trim() || null;
      try {
        await acknowledge({ alertId: id, by: `${by} (link sent to ${channel})`, note, nowMs: clock.now() });
      } catch (error) {
        // The alert has ended in the meantime, or belongs to another ledger.
        if (error instanceof AppError && !error.retryable) return sendExpired(reply);
        throw error;
      }
    }
    return reply.redirect(request.url, 303);
  });
};

/** Returns the open alerts that a link is for; null if its signature is wrong. */
function linkedAlerts(request: FastifyRequest, { connection, linkKey }: AcknowledgeOptions): AlertRecord[] | null {
  const { id, episode, channel, signature } = request.params as LinkParams;
  const target = { id, episode: Number(episode), channel };
  if (linkKey === null || !isSigned(linkKey, target, signature)) return null;
  return findAlerts(connection, id)
    .filter(({ state }) => state === 'firing' || state === 'acknowledged')
    .filter((alert) => target.episode === 0 || alert.episode === target.episode)
    .map((alert) => requireAlertRecord(connection, alert.alertId));
}

function findAlerts(connection: LedgerDb, id: string): ReturnType<typeof requireAlerts> {
  try {
    return requireAlerts(connection, id);
  } catch (error) {
    if (error instanceof AppError && error.code === 'unknown_alert') return [];
    throw error;
  }
}

function sendExpired(reply: FastifyReply): FastifyReply {
  const text = 'The alert has ended, or its message is no longer stored.';
  return sendPage(reply, <DeadLinkPage title="Link expired">{text}</DeadLinkPage>, 410);
}

function sendInvalid(reply: FastifyReply): FastifyReply {
  const text = 'The signature of this link is not valid. Open the link of the message as it was sent.';
  return sendPage(reply, <DeadLinkPage title="Link not valid">{text}</DeadLinkPage>, 404);
}
