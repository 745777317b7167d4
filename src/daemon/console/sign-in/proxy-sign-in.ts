import type { FastifyRequest } from 'fastify';
import ipaddr from 'ipaddr.js';
import type { ProxySignInConfig } from '../../../config/types.ts';
import type { Logger } from '../../../core/logger.ts';
import { personName } from '../../../core/text/person-name.ts';
import type { Role } from '../../../core/text/roles.ts';
import { roleOfGroups } from './role-of-groups.ts';
import type { Session, SignIn } from './sessions.ts';

/** A person whom the proxy has signed in. */
export interface ProxyPerson {
  person: string;
  groups: readonly string[];
  /** The role that the person's groups give; null if none of them gives one. */
  role: Role | null;
}

const THIS_MACHINE = ['127.0.0.0/8', '::1/128'];
const MAX_GROUPS = 1000;

type Sender = Pick<FastifyRequest, 'raw' | 'ip'>;

/**
 * Reads from the headers of a trusted proxy who has signed in. Such headers from other addresses are ignored, and the
 * log reports this once.
 */
export class ProxySignIn {
  readonly #settings: () => ProxySignInConfig | null;
  readonly #logger: Pick<Logger, 'warn'>;
  readonly #reported = new Set<string>();

  constructor(settings: () => ProxySignInConfig | null, logger: Pick<Logger, 'warn'>) {
    this.#settings = settings;
    this.#logger = logger;
  }

  /**
   * Returns the person whom the headers name. Null if they name nobody, if the request is not from the proxy's address,
   * or if a header is repeated.
   */
  personOf({ raw, ip }: Sender): ProxyPerson | null {
    const settings = this.#settings();
    if (settings === null) return null;
    const { userHeader, groupsHeader, roles } = settings;
    const users = headerValues(raw.rawHeaders, userHeader);
    if (users.length === 0) return null;
    if (!isTrusted(ip, settings)) {
      this.#report(
        'address',
        { ip, header: userHeader },
        'the header of a sign-in came from an untrusted address: ignored',
      );
      return null;
    }
    const groupLists = headerValues(raw.rawHeaders, groupsHeader);
    if (users.length > 1 || groupLists.length > 1) {
      // The proxy may have added its header to one that the browser sent. It is then unknown which of the two is the
      // proxy's.
      this.#report('repeated', { ip, header: userHeader }, 'the proxy sent the header of a sign-in twice: ignored');
      return null;
    }
    const person = personName(users[0] ?? '');
    if (person === null) return null;
    const groups = (groupLists[0] ?? '').split(',', MAX_GROUPS).map((group) => group.trim());
    return { person, groups, role: roleOfGroups(groups, roles) };
  }

  /**
   * Returns the sign-in of a person with a role. It stays valid until a reload changes the role of the person's groups.
   */
  signInOf({ person, groups }: ProxyPerson, role: Role): SignIn {
    const holds = (): boolean => {
      const settings = this.#settings();
      return settings !== null && roleOfGroups(groups, settings.roles) === role;
    };
    return { method: 'proxy', caller: { name: person, role }, person, holds };
  }

  #report(kind: string, fields: object, message: string): void {
    if (this.#reported.has(kind)) return;
    this.#reported.add(kind);
    this.#logger.warn(fields, message);
  }
}

/** Reports whether a session belongs to the person whom the proxy names, with the same role. */
export function isSessionOf({ method, caller }: Session, { person, role }: ProxyPerson): boolean {
  return method === 'proxy' && caller.name === person && caller.role === role;
}

/**
 * Returns each value of a header as text. Node's parsed headers cannot be used: Node joins repeated values, and decodes
 * UTF-8 as Latin-1.
 */
function headerValues(rawHeaders: readonly string[], name: string): string[] {
  const values = rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === name);
  return values.map((value) => Buffer.from(value, 'latin1').toString('utf8'));
}

/**
 * Reports whether a request comes from an address of the proxy. An IPv4 address that is mapped into IPv6 counts as
 * IPv4.
 */
function isTrusted(ip: string, { trustedAddresses }: ProxySignInConfig): boolean {
  if (!ipaddr.isValid(ip)) return false;
  const address = ipaddr.process(ip);
  const networks = trustedAddresses.length === 0 ? THIS_MACHINE : trustedAddresses;
  return networks.some((network) => {
    const [base, bits] = networkOf(network);
    return base.kind() === address.kind() && address.match(base, bits);
  });
}

/** Parses a network such as `10.0.0.0/8`. A single address becomes a network that contains only this address. */
function networkOf(text: string): [ipaddr.IPv4 | ipaddr.IPv6, number] {
  if (text.includes('/')) return ipaddr.parseCIDR(text);
  const address = ipaddr.parse(text);
  return [address, address.kind() === 'ipv4' ? 32 : 128];
}
