import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { connect, isIP, type LookupFunction, type Socket } from 'node:net';
import { OutboundError } from './outbound-errors.ts';
import { nonPublicKind } from './public-address.ts';

export interface ResolvedAddress {
  address: string;
  family: number;
}

export type Resolve = (host: string) => Promise<ResolvedAddress[]>;

export interface OutboundPolicy {
  /** True to allow all addresses; false to allow only public addresses. */
  allowPrivate: boolean;
  /** Resolves host names; default: the resolver of the system. */
  resolve?: Resolve | undefined;
}

/** The error for a receiver whose address is not public although its configuration does not set `allow_private`. */
export class AddressRefusedError extends OutboundError {
  constructor(host: string, address: string, kind: string) {
    const subject =
      host === address ? `address ${address} is` : `${JSON.stringify(host)} resolves to ${address}, which is`;
    super('address_refused', `${subject} not public (${kind}), so nothing was sent`, {
      hint: 'set `allow_private: true` for this receiver if the address is yours; otherwise correct it',
      neverSent: true,
    });
  }
}

/**
 * Returns the addresses of a host to which the policy allows connections. If the host is an IP address itself, the
 * resolver is not called. Throws AddressRefusedError if the policy allows none of the host's addresses, and throws the
 * errors of the resolver.
 */
export async function allowedAddresses(host: string, policy: OutboundPolicy): Promise<ResolvedAddress[]> {
  const bare = host.replace(/^\[(.*)\]$/, '$1');
  const family = isIP(bare.replace(/%.*$/, ''));
  const resolve = policy.resolve ?? ((name: string) => lookup(name, { all: true }));
  const found = family === 0 ? await resolve(bare) : [{ address: bare, family }];
  if (policy.allowPrivate) return found;
  const allowed = found.filter(({ address }) => nonPublicKind(address) === null);
  const refused = found[0];
  if (allowed.length === 0 && refused !== undefined) {
    throw new AddressRefusedError(bare, refused.address, nonPublicKind(refused.address) ?? 'internal');
  }
  return allowed;
}

/**
 * Opens a TCP connection to a host. Throws AddressRefusedError if the policy does not allow the host, and throws the
 * errors of the socket.
 */
export async function openGuardedSocket(
  { host, port }: { host: string; port: number },
  policy: OutboundPolicy,
  signal: AbortSignal,
): Promise<Socket> {
  const fault = refusedLiteral(host, policy);
  if (fault !== null) throw fault;
  const socket = connect({ host, port, lookup: guardedLookup(policy), signal });
  // An error event without a listener would end the process. While the socket passes from one user to the next, it has
  // no other listener.
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

/**
 * Returns the error for a host that is an IP address and not allowed. Returns null for a host name and for an allowed
 * address.
 */
export function refusedLiteral(host: string, { allowPrivate }: OutboundPolicy): AddressRefusedError | null {
  const bare = host.replace(/^\[(.*)\]$/, '$1');
  if (allowPrivate || isIP(bare) === 0) return null;
  const kind = nonPublicKind(bare);
  return kind === null ? null : new AddressRefusedError(bare, bare, kind);
}

/**
 * Returns a lookup function for sockets that returns only addresses that the policy allows. The socket connects to
 * exactly these addresses, so a name that resolves to a different address a moment later cannot evade the policy.
 */
export function guardedLookup(policy: OutboundPolicy): LookupFunction {
  return (host, options, callback) => {
    allowedAddresses(host, policy).then(
      (addresses) => {
        const { family = 0 } = options;
        const wanted = addresses.filter((found) => family === 0 || found.family === family);
        const [first] = wanted;
        if (options.all === true) callback(null, wanted);
        else if (first !== undefined) callback(null, first.address, first.family);
        else callback(Object.assign(new Error(`no address of ${host}`), { code: 'ENOTFOUND' }), '');
      },
      (error: NodeJS.ErrnoException) => callback(error, ''),
    );
  };
}
