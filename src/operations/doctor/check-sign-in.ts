import { z } from 'zod';
import type { Config } from '../../config/types.ts';
import type { Clock } from '../../core/clock.ts';
import { summarizeError } from '../../core/errors.ts';
import { HttpClient, readText } from '../../net/http-client.ts';
import { isHttpsOrLoopback } from '../../net/local-address.ts';
import { type DoctorFinding, fail, ok } from './finding.ts';

const PROVIDER_TIMEOUT_MS = 5_000;
const MAX_DOCUMENT_BYTES = 1024 * 1024;

/** The fields of a provider's discovery document that are required for signing in. */
const discoverySchema = z.object({
  issuer: z.string(),
  authorization_endpoint: z.url(),
  token_endpoint: z.url(),
  jwks_uri: z.url(),
});

/**
 * Checks the sign-in provider of `http.oidc` by reading its discovery document. Each sign-in begins with this document.
 */
export async function checkSignIn({ http, proxy }: Config, clock: Clock): Promise<DoctorFinding[]> {
  const { oidc } = http;
  if (oidc === null) return [];
  const { issuer, ca } = oidc;
  const url = new URL(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`);
  const client = new HttpClient({ clock, proxy, ca, timeoutMs: PROVIDER_TIMEOUT_MS });
  try {
    const { status, text } = await client.send({ method: 'GET', url }, async ({ status, body }) => {
      return { status, text: await readText(body, MAX_DOCUMENT_BYTES) };
    });
    return [status === 200 ? documentFinding(text, { url, issuer }) : statusFinding(status, url)];
  } catch (error) {
    const { message, hint = 'check `http.oidc.issuer` and the network path to the provider' } = summarizeError(error);
    return [fail('sign-in', `cannot reach the provider ${issuer}: ${message}`, hint)];
  } finally {
    await client.close();
  }
}

function statusFinding(status: number, url: URL): DoctorFinding {
  return fail(
    'sign-in',
    `${url} answers with status ${status}`,
    'set `http.oidc.issuer` to the issuer as the provider writes it, without `/.well-known/openid-configuration`',
  );
}

function documentFinding(text: string, { url, issuer }: { url: URL; issuer: string }): DoctorFinding {
  const document = discoverySchema.safeParse(jsonOf(text));
  if (!document.success) {
    const missing = [...new Set(document.error.issues.map(({ path }) => String(path[0] ?? 'JSON')))].join(', ');
    return fail(
      'sign-in',
      `${url} is not the discovery document of an OpenID provider: it lacks ${missing}`,
      'set `http.oidc.issuer` to the issuer of the provider',
    );
  }
  const { issuer: named, ...endpoints } = document.data;
  if (URL.parse(named)?.href !== new URL(issuer).href) {
    return fail(
      'sign-in',
      `the provider's issuer is ${named}, but \`http.oidc.issuer\` is ${issuer}`,
      `set \`http.oidc.issuer: ${named}\``,
    );
  }
  const [plain] = Object.entries(endpoints).filter(([, address]) => !isHttpsOrLoopback(new URL(address)));
  if (plain !== undefined) {
    const [name, address] = plain;
    return fail('sign-in', `the provider's ${name} is ${address}`, 'let the provider publish https:// addresses');
  }
  return ok('sign-in', `${issuer} answers, and its discovery document has the addresses for signing in`);
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
