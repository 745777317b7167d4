import type { CustomFetch } from 'openid-client';
import { AppError } from '../../../../core/errors.ts';
import { type HttpClient, readText } from '../../../../net/http-client.ts';
import { isHttpsOrLoopback } from '../../../../net/local-address.ts';

/** Metadata and keys of large providers take some ten kilobytes. */
const MAX_ANSWER_BYTES = 1024 * 1024;
/** Statuses whose responses may have no body. */
const WITHOUT_BODY: readonly number[] = [204, 205, 304];

/** Returns the `fetch` of openid-client: it sends through our one way out, with its proxy, certificates and deadline. */
export function providerFetch(http: HttpClient): CustomFetch {
  return (address, { method, headers, body }) => {
    const url = new URL(address);
    // The provider's own document names the other addresses.
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
