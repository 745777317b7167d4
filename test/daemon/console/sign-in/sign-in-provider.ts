import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider, { type Configuration } from 'oidc-provider';
import { onTestFinished } from 'vitest';
import type { World } from '../../../commands/world.ts';
import { type Answer, type ServedConsole, serveConsole, Visitor } from '../served-console.ts';

export const CLIENT = { id: 'usage-ledger', secret: 'a-secret-of-the-client-123456' };
const OTHER_CLIENT = { id: 'another-program', secret: 'a-secret-of-another-program-1' };
const CALLBACK = '/sign-in/callback';

/** The people that the provider knows, with the claims that it gives. */
export const PEOPLE: Readonly<Record<string, { name?: string; groups?: string[] }>> = {
  ada: { name: 'Ada Lovelace', groups: ['staff', 'finance-team'] },
  otto: { name: 'Otto Operator', groups: ['on-call'] },
  rita: { name: 'Rita Reader', groups: ['staff'] },
  nick: { name: 'Nick Nobody', groups: ['visitors'] },
  gina: { groups: [] },
};

export interface SignInProvider {
  issuer: string;
  /** Registers the console that people come from. */
  register(consoleUrl: string): void;
  /** Called with each request before the provider; true: it has been answered. */
  intercept: (request: IncomingMessage, response: ServerResponse) => boolean | Promise<boolean>;
  /** Requests that arrived, as `POST /token`. */
  readonly requests: string[];
  /** Signs a person in, as a browser that the console has sent to an address; returns the path that it is sent back to. */
  answer(account: string, address: string): Promise<string>;
  stop(): Promise<void>;
}

interface ProviderOptions {
  /** Groups and name come from the userinfo endpoint alone. */
  smallTokens?: boolean;
  idTokenSeconds?: number;
}

/** Starts a certified OpenID provider on this machine, which asks for no password. */
export async function startSignInProvider(options: ProviderOptions = {}): Promise<SignInProvider> {
  let provider: Provider | null = null;
  const server = createServer(async (request, response) => {
    started.requests.push(`${request.method} ${request.url?.split('?')[0]}`);
    if (await started.intercept(request, response)) return;
    const [, uid] = /^\/interaction\/(.+)$/.exec(request.url ?? '') ?? [];
    if (uid === undefined) return void provider?.callback()(request, response);
    const accountId = String(request.headers['x-account']);
    await provider?.interactionFinished(
      request,
      response,
      { login: { accountId } },
      { mergeWithLastSubmission: false },
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const stop = async (): Promise<void> => {
    if (!server.listening) return;
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  };
  onTestFinished(stop);
  const started: SignInProvider = {
    issuer,
    requests: [],
    intercept: () => false,
    stop,
    register(consoleUrl) {
      provider = quietly(() => new Provider(issuer, configurationOf(`${consoleUrl}${CALLBACK}`, options)));
    },
    async answer(account, address) {
      const browser = new Visitor(issuer);
      for (let location = address, hops = 0; hops < 10; hops += 1) {
        const { status, headers, body } = await browser.ask(location, { headers: { 'x-account': account } });
        const next = headers.location;
        if (next === undefined) throw new Error(`the provider answers ${status}: ${body}`);
        const url = new URL(next, issuer);
        if (url.pathname === CALLBACK) return `${url.pathname}${url.search}`;
        location = url.href;
      }
      throw new Error('the provider never sends the browser back');
    },
  };
  return started;
}

/** Its hints about keys and storage are for production. */
function quietly<T>(make: () => T): T {
  const { warn } = console;
  console.warn = () => undefined;
  try {
    return make();
  } finally {
    console.warn = warn;
  }
}

function configurationOf(
  redirectUri: string,
  { smallTokens = false, idTokenSeconds = 60 }: ProviderOptions,
): Configuration {
  return {
    clients: [CLIENT, OTHER_CLIENT].map(({ id, secret }) => ({
      client_id: id,
      client_secret: secret,
      redirect_uris: [redirectUri],
    })),
    claims: { openid: ['sub'], profile: ['name'], groups: ['groups'] },
    conformIdTokenClaims: smallTokens,
    pkce: { required: () => true },
    cookies: { keys: ['a key of this test'] },
    ttl: { IdToken: idTokenSeconds, AccessToken: 60, AuthorizationCode: 60, Interaction: 60, Session: 60, Grant: 60 },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    findAccount: (_context, sub) => ({ accountId: sub, claims: async () => ({ sub, ...PEOPLE[sub] }) }),
    async loadExistingGrant(context) {
      const { client, session, provider } = context.oidc;
      const grant = new provider.Grant({ clientId: client?.clientId, accountId: session?.accountId });
      grant.addOIDCScope('openid profile groups');
      await grant.save();
      return grant;
    },
  };
}

export interface SignInWorld {
  provider: SignInProvider;
  served: ServedConsole;
  /** Sends a browser to the provider; returns where it is sent. */
  begin(visitor: Visitor, next?: string): Promise<string>;
  /** Signs a person in over the provider; returns the answer to the last step. */
  signIn(visitor: Visitor, account: string, next?: string): Promise<Answer>;
}

export function oidcSettings(issuer: string, some: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    issuer,
    client_id: CLIENT.id,
    client_secret: CLIENT.secret,
    scopes: ['openid', 'profile', 'groups'],
    roles: { claim: 'groups', finance: ['finance-team'], operate: ['on-call'], read: ['staff'] },
    ...some,
  };
}

/** Serves the console of a world, whose people sign in at a provider. */
export async function serveWithProvider(
  world: World,
  { oidc = {}, ...options }: ProviderOptions & { oidc?: Record<string, unknown> } = {},
): Promise<SignInWorld> {
  const provider = await startSignInProvider(options);
  world.configure({ http: { oidc: oidcSettings(provider.issuer, oidc) }, workspaces: workspacesOf(world) });
  const served = await serveConsole(world);
  provider.register(served.url);
  const begin: SignInWorld['begin'] = async (visitor, next = '/') => {
    const { status, headers, body } = await visitor.get(`/sign-in/provider?${new URLSearchParams({ next })}`);
    if (status !== 303 || headers.location === undefined) throw new Error(`the console answers ${status}: ${body}`);
    return headers.location;
  };
  return {
    provider,
    served,
    begin,
    async signIn(visitor, account, next) {
      return visitor.get(await provider.answer(account, await begin(visitor, next)));
    },
  };
}

/** The workspaces of a configuration that only serves pages. */
export function workspacesOf({ sandbox }: World): Record<string, unknown>[] {
  return ['ws-1', 'ws-2'].map((id) => ({
    id,
    api_key_id: 'ak_first',
    secret_key: 'sk_first_not_a_secret',
    base_url: sandbox.url,
    embed_url: sandbox.url,
  }));
}
