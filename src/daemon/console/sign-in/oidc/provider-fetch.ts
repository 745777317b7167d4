import type { CustomFetch } from 'openid-client';
import { AppError } from '../../../../core/errors.ts';
import { type HttpClient, readText } from '../../../../net/http-client.ts';
import { isHttpsOrLoopback } from '../../../../net/local-address.ts';

/** The maximum size of an answer. The metadata and keys of large providers take a few dozen kilobytes. */
const MAX_ANSWER_BYTES = 1024 * 1024;
/** Statuses whose responses may have no body. */
const WITHOUT_BODY: readonly number[] = [204, 205, 304];

/**
 * Returns the function with which openid-client makes requests. It sends them through this program's HTTP client, with
 * its proxy, certificates and timeout.
 */
export function providerFetch(http: HttpClient): CustomFetch {
  return (address, { method, headers, body }) => {
    const url = new URL(address);
    // The other addresses come from the provider's own document, so each of them is checked.
    if (!isHttpsOrLoopback(url)) {
      throw new AppError('oidc_provider', `the provider names ${url.origin}, which uses http:// to another machine`, {
        hint: 'let the provider publish https:// addresses',
      });
    }
    const sent = body === undefined || body === null ? null : String(body);
    const request = { method: method === 'POST' ? 'POST' : 'GET', url, headers, body: sent } as const;
    return http.send(request, async (response) => {
      const text = await readText(response.body, MAX_ANSWER_BYTES);
      const entries = Object.entries(response.headers).flatMap(([name, value]): [string, string][] =>
        value === undefined ? [] : [[name, [value].flat().join(', ')]],
      );
      const { status } = response;
      return new Response(WITHOUT_BODY.includes(status) ? null : text, { status, headers: entries });
    });
  };
}
