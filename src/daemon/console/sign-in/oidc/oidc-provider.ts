import {
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  type ClientAuth,
  ClientSecretBasic,
  ClientSecretPost,
  type Configuration,
  calculatePKCECodeChallenge,
  clockTolerance,
  customFetch,
  discovery,
  enableNonRepudiationChecks,
  fetchUserInfo,
  None,
  randomNonce,
  randomPKCECodeVerifier,
  randomState,
} from 'openid-client';
import type { OidcConfig, ProxyConfig } from '../../../../config/types.ts';
import type { Clock } from '../../../../core/clock.ts';
import { HOUR_MS } from '../../../../core/durations.ts';
import { AppError } from '../../../../core/errors.ts';
import { HttpClient } from '../../../../net/http-client.ts';
import { isHttpsOrLoopback } from '../../../../net/local-address.ts';
import type { SignInAttempt } from './attempts.ts';
import { toSignInError } from './oidc-errors.ts';
import { providerFetch } from './provider-fetch.ts';

/** The timeout of each request to the provider. It is short because a person is waiting for the page. */
const PROVIDER_TIMEOUT_MS = 5_000;
/**
 * The provider's addresses are read again after this time. Its keys are read again whenever a signature uses an unknown
 * key.
 */
const METADATA_MS = HOUR_MS;
/** How far the clocks of the provider and this machine may differ. */
const CLOCK_TOLERANCE_SECONDS = 60;

/** The identity of a person, from the claims of the provider. */
export interface OidcClaims {
  subject: string;
  claims: Readonly<Record<string, unknown>>;
}

/** A sign-in provider with one set of settings. Sends requests to the provider only when somebody signs in. */
export class OidcProvider {
  readonly #settings: OidcConfig;
  readonly #clock: Clock;
  readonly #http: HttpClient;
  #known: { configuration: Promise<Configuration>; readMs: number } | null = null;

  constructor(settings: OidcConfig, { clock, proxy }: { clock: Clock; proxy: ProxyConfig | null }) {
    this.#settings = settings;
    this.#clock = clock;
    this.#http = new HttpClient({ clock, proxy, ca: settings.ca, timeoutMs: PROVIDER_TIMEOUT_MS });
  }

  /**
   * Begins a sign-in. Returns the address to send the browser to, and what the answer must contain. Throws
   * `oidc_provider`.
   */
  async begin(redirectUri: string, next: string): Promise<{ url: URL; attempt: SignInAttempt }> {
    return this.#asked(async (configuration) => {
      const attempt: SignInAttempt = {
        state: randomState(),
        nonce: randomNonce(),
        codeVerifier: randomPKCECodeVerifier(),
        redirectUri,
        next,
      };
      const url = buildAuthorizationUrl(configuration, {
        redirect_uri: redirectUri,
        scope: this.#settings.scopes.join(' '),
        state: attempt.state,
        nonce: attempt.nonce,
        code_challenge: await calculatePKCECodeChallenge(attempt.codeVerifier),
        code_challenge_method: 'S256',
      });
      if (!isHttpsOrLoopback(url)) throw new AppError('oidc_provider', `the provider sends people to ${url.origin}`);
      return { url, attempt };
    });
  }

  /** Exchanges the provider's answer for the person's claims. Throws `oidc_refused` or `oidc_provider`. */
  async finish(
    answer: URLSearchParams,
    { state, nonce, codeVerifier, redirectUri }: SignInAttempt,
  ): Promise<OidcClaims> {
    return this.#asked(async (configuration) => {
      const url = new URL(`${redirectUri}?${answer}`);
      const tokens = await authorizationCodeGrant(configuration, url, {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: codeVerifier,
        idTokenExpected: true,
      });
      const claims = tokens.claims() ?? { sub: '' };
      const wanted = [this.#settings.roles.claim, this.#settings.nameClaim];
      const isComplete = wanted.every((name) => Object.hasOwn(claims, name));
      const hasMore = configuration.serverMetadata().userinfo_endpoint !== undefined;
      if (isComplete || !hasMore) return { subject: claims.sub, claims };
      // Many providers keep the ID token small and include the groups only in this response.
      const more = await fetchUserInfo(configuration, tokens.access_token, claims.sub);
      return { subject: claims.sub, claims: { ...more, ...claims } };
    });
  }

  close(): Promise<void> {
    return this.#http.close();
  }

  async #asked<T>(ask: (configuration: Configuration) => Promise<T>): Promise<T> {
    const { issuer } = this.#settings;
    try {
      return await ask(await this.#configuration());
    } catch (error) {
      throw toSignInError(error, issuer);
    }
  }

  #configuration(): Promise<Configuration> {
    const nowMs = this.#clock.monotonic();
    if (this.#known !== null && nowMs - this.#known.readMs < METADATA_MS) return this.#known.configuration;
    const known = { configuration: this.#discover(), readMs: nowMs };
    this.#known = known;
    known.configuration.catch(() => {
      if (this.#known === known) this.#known = null;
    });
    return known.configuration;
  }

  #discover(): Promise<Configuration> {
    const { issuer, clientId, clientSecret } = this.#settings;
    const isPlain = new URL(issuer).protocol === 'http:';
    return discovery(
      new URL(issuer),
      clientId,
      { [clockTolerance]: CLOCK_TOLERANCE_SECONDS },
      clientSecret === null ? None() : secretOf(clientSecret),
      {
        [customFetch]: providerFetch(this.#http),
        execute: [enableNonRepudiationChecks, ...(isPlain ? [allowInsecureRequests] : [])],
      },
    );
  }
}

/** Sends the client secret in the header, unless the provider accepts it only in the body. */
function secretOf(clientSecret: string): ClientAuth {
  const [basic, post] = [ClientSecretBasic(clientSecret), ClientSecretPost(clientSecret)];
  return (server, client, body, headers) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    const isPostOnly = methods.includes('client_secret_post') && !methods.includes('client_secret_basic');
    return (isPostOnly ? post : basic)(server, client, body, headers);
  };
}
