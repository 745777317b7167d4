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
  /** False allows public addresses only. */
  allowPrivate: boolean;
  /** Default: the system's resolver. */
  resolve?: Resolve | undefined;
}

/** An address that is not public, of a receiver without `allow_private`. */
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
 * Returns the addresses of a host that may be connected to. A host that is an address itself is judged without the
 * resolver. Throws AddressRefusedError if none of its addresses is allowed, and the errors of the resolver.
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

/** Opens a TCP connection to a host that the policy allows. Throws AddressRefusedError and errors of the socket. */
export async function openGuardedSocket(
  { host, port }: { host: string; port: number },
  policy: OutboundPolicy,
  signal: AbortSignal,
): Promise<Socket> {
  const fault = refusedLiteral(host, policy);
  if (fault !== null) throw fault;
  const socket = connect({ host, port, lookup: guardedLookup(policy), signal });
  // Between two users of the socket nobody listens, and an error without a listener ends the process.
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

/** Returns the error for a host that is a refused address itself; null for names and allowed addresses. */
export function refusedLiteral(host: string, { allowPrivate }: OutboundPolicy): AddressRefusedError | null {
  const bare = host.replace(/^\[(.*)\]$/, '$1');
  if (allowPrivate || isIP(bare) === 0) return null;
  const kind = nonPublicKind(bare);
  return kind === null ? null : new AddressRefusedError(bare, bare, kind);
}

/**
 * Returns a lookup that resolves names under the policy. The socket connects to the addresses that were judged: a name
 * that resolves to another address a moment later gains nothing.
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
