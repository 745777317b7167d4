import type { FastifyReply } from 'fastify';
import type { VNode } from 'preact';
import { HTML_CONTENT_TYPE, renderInert } from '../../../look/document.ts';

/** The content security policy: allows the console's own style sheet, script, requests and forms, and nothing else. */
const CONSOLE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/** Renders a page of the console. */
export function renderPage(page: VNode): string {
  return `<!doctype html>${renderInert(page)}`;
}

/** Sends a page of the console. */
export function sendPage(reply: FastifyReply, page: VNode, status = 200): FastifyReply {
  return (
    reply
      .code(status)
      .header('content-security-policy', CONSOLE_POLICY)
      // Requests within this site carry the site's origin, which the form checks need. Other sites do not learn the
      // address of any page.
      .header('referrer-policy', 'same-origin')
      .type(HTML_CONTENT_TYPE)
      .send(renderPage(page))
  );
}
