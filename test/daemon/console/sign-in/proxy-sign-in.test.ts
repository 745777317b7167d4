import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../../../src/config/load.ts';
import { ProxySignIn } from '../../../../src/daemon/console/sign-in/proxy-sign-in.ts';
import { copiesOf, type World } from '../../../commands/world.ts';
import { ledgerOfOperations } from '../../../operations/ledger-of-operations.ts';
import { type ServedConsole, serveConsole, TOKENS, Visitor } from '../served-console.ts';
import { workspacesOf } from './sign-in-provider.ts';

const world = copiesOf(ledgerOfOperations);
const ROLES = { finance: ['finance-team'], operate: ['on-call'], read: ['staff'] };
const ADA = { 'x-forwarded-user': 'Ada', 'x-forwarded-groups': 'staff, finance-team' };
const RITA = { 'x-forwarded-user': 'Rita', 'x-forwarded-groups': 'staff' };

const whoOf = (body: string): string | undefined =>
  /<(?:span|div class="who")>([^<]* \((?:read|operate|finance)\))</.exec(body)?.[1];

async function serveBehindProxy(some: Record<string, unknown> = {}): Promise<ServedConsole & { own: World }> {
  const own = await world();
  own.configure({
    http: { proxy_sign_in: { user_header: 'X-Forwarded-User', roles: ROLES, ...some } },
    workspaces: workspacesOf(own),
  });
  return { ...(await serveConsole(own)), own };
}

describe('sign-in by the headers of a proxy', () => {
  it('signs in with the largest role of the groups, and its forms are recorded with that name', async () => {
    const { url, own } = await serveBehindProxy();
    const visitor = new Visitor(url);
    const page = await visitor.get('/alerts/silences', ADA);
    expect([page.status, whoOf(page.body)]).toEqual([200, 'Ada (finance)']);
    // The proxy would sign the person in again at once.
    expect(page.body).not.toContain('Sign out');
    const [, silence_id = ''] = /name="silence_id" value="([^"]*)"/.exec(page.body) ?? [];
    const [, form_token = ''] = /name="form_token" value="([^"]*)"/.exec(page.body) ?? [];
    const form = { form_token, silence_id };
    const answer = await visitor.ask('/alerts/silences/end', { method: 'POST', form, headers: ADA });
    expect(answer.status).toBe(303);
    expect(own.query('SELECT ended_by FROM silences')).toEqual([{ ended_by: 'Ada (signed in)' }]);
  });

  it('follows the headers: another person or role gets a session of its own, and no header gets none', async () => {
    const { url } = await serveBehindProxy();
    const visitor = new Visitor(url);
    expect(whoOf((await visitor.get('/', ADA)).body)).toBe('Ada (finance)');
    const { cookie } = visitor;
    expect(whoOf((await visitor.get('/', RITA)).body)).toBe('Rita (read)');
    expect(visitor.cookie).not.toBe(cookie);
    expect(whoOf((await visitor.get('/', { ...ADA, 'x-forwarded-groups': 'on-call' })).body)).toBe('Ada (operate)');
    // The cookie alone signs nobody in: it would outlive the proxy's own session.
    expect((await visitor.get('/')).status).toBe(401);
  });

  it('lets nobody in without a role, and lets a token count before the headers', async () => {
    const { url } = await serveBehindProxy();
    const nick = { 'x-forwarded-user': 'Nick', 'x-forwarded-groups': 'visitors' };
    const refused = await new Visitor(url).get('/', nick);
    expect(refused.status).toBe(403);
    expect(refused.body).toContain('You are signed in as Nick, but none of your groups has a role here.');
    expect(refused.body).toContain('http.proxy_sign_in.roles');
    const api = await new Visitor(url).get('/api/v1/status', { ...nick, accept: 'application/json' });
    expect(api.status).toBe(403);
    const authorization = `Bearer ${TOKENS[0]?.token}`;
    expect(whoOf((await new Visitor(url).get('/', { ...ADA, authorization })).body)).toBeUndefined();
    expect((await new Visitor(url).get('/', { ...ADA, authorization: 'Bearer guess' })).status).toBe(401);
  });

  it('does not let another site send a form, though the proxy names its person', async () => {
    const { url } = await serveBehindProxy();
    const visitor = new Visitor(url);
    await visitor.get('/', ADA);
    const foreign = { ...ADA, origin: 'https://evil.example' };
    const answer = await visitor.ask('/sign-out', { method: 'POST', form: {}, headers: foreign });
    expect(answer.status).toBe(403);
    const blind = await new Visitor(url).ask('/sign-out', { method: 'POST', form: {}, headers: ADA });
    expect(blind.status).toBe(403);
  });

  it('follows a reload of the roles', async () => {
    const own = await world();
    const configure = (roles: Record<string, string[]>) =>
      own.configure({
        http: { proxy_sign_in: { user_header: 'X-Forwarded-User', roles } },
        workspaces: workspacesOf(own),
      });
    configure(ROLES);
    const { url, context } = await serveConsole(own);
    const visitor = new Visitor(url);
    expect(whoOf((await visitor.get('/', ADA)).body)).toBe('Ada (finance)');
    configure({ read: ['finance-team'] });
    await context.reconfigure(await loadConfig({ file: undefined, env: {}, cwd: own.folder }));
    expect(whoOf((await visitor.get('/', ADA)).body)).toBe('Ada (read)');
  });
});

describe('spoofed headers of a proxy', () => {
  it('are ignored from an address that is not the proxy', async () => {
    const { url } = await serveBehindProxy({ trusted_addresses: ['10.0.0.5'] });
    expect((await new Visitor(url).get('/', ADA)).status).toBe(401);
    // What the browser claims about its own address changes nothing.
    expect((await new Visitor(url).get('/', { ...ADA, 'x-forwarded-for': '10.0.0.5' })).status).toBe(401);
  });

  it('are ignored when a header arrives twice, and refused with a line break', async () => {
    const { url } = await serveBehindProxy();
    const line = (name: string, value: string) => `${name}: ${value}\r\n`;
    const once = line('X-Forwarded-User', 'Rita') + line('X-Forwarded-Groups', 'staff');
    expect(await statusOf(url, once)).toBe(200);
    expect(await statusOf(url, once + line('x-forwarded-user', 'Ada'))).toBe(401);
    expect(await statusOf(url, once + line('X-Forwarded-GROUPS', 'finance-team'))).toBe(401);
    // A bare CR or LF never reaches the program.
    expect(await statusOf(url, line('X-Forwarded-User', 'Rita\rX-Forwarded-Groups: finance-team'))).toBe(400);
    expect(await statusOf(url, line('X-Forwarded-User', 'Rita\nX-Forwarded-Groups: finance-team'))).not.toBe(200);
    expect(await statusOf(url, line('X_Forwarded_User', 'Ada') + line('X_Forwarded_Groups', 'finance-team'))).toBe(401);
  });

  it('count from an IPv4 address that is mapped into IPv6 as from the address itself, and are logged once', async () => {
    const warnings: object[] = [];
    const settings = {
      userHeader: 'x-forwarded-user',
      groupsHeader: 'x-forwarded-groups',
      trustedAddresses: ['10.0.0.0/24', '192.168.1.7', 'fd00::/8'],
      roles: ROLES,
    };
    const logger = { warn: (fields: object) => void warnings.push(fields) };
    const proxySignIn = new ProxySignIn(
      () => settings,
      logger as unknown as ConstructorParameters<typeof ProxySignIn>[1],
    );
    const from = (ip: string) => {
      const rawHeaders = ['X-Forwarded-User', Buffer.from('Zoë').toString('latin1'), 'x-forwarded-groups', 'staff'];
      return proxySignIn.personOf({ ip, raw: { rawHeaders } } as unknown as Parameters<ProxySignIn['personOf']>[0]);
    };
    for (const ip of ['10.0.0.9', '::ffff:10.0.0.9', '::ffff:a00:9', '192.168.1.7', 'fd12::1']) {
      expect([ip, from(ip)]).toEqual([ip, { person: 'Zoë', groups: ['staff'], role: 'read' }]);
    }
    expect(warnings).toEqual([]);
    for (const ip of ['10.0.1.9', '::ffff:10.0.1.9', '192.168.1.8', '127.0.0.1', '::1', 'fe80::1', '', 'x']) {
      expect([ip, from(ip)]).toEqual([ip, null]);
    }
    expect(warnings).toEqual([{ ip: '10.0.1.9', header: 'x-forwarded-user' }]);
  });
});

/** Sends a page's request with raw header lines, which an HTTP client would refuse or join. */
async function statusOf(url: string, lines: string): Promise<number> {
  const { hostname, port, host } = new URL(url);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  socket.write(`GET / HTTP/1.1\r\nHost: ${host}\r\nAccept: text/html\r\nConnection: close\r\n${lines}\r\n`);
  let answer = '';
  for await (const chunk of socket.setEncoding('utf8')) answer += chunk;
  return Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1]);
}
