import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { connect, isIP, type LookupFunction, type Socket } from 'node:net';
import { AppError } from '../core/errors.ts';
import { nonPublicKind } from './public-address.ts';

export interface ResolvedAddress {
  address: string;
  family: number;
}

export type Resolve = (host: string) => Promise<ResolvedAddress[]>;

export interface OutboundPolicy {
  /** False: to public addresses only. */
  allowPrivate: boolean;
  /** The system's resolver when absent. */
  resolve?: Resolve | undefined;
}

/** The place that a channel points to is not public, and the channel does not say that it may be. */
export class AddressRefusedError extends AppError {
  constructor(host: string, address: string, kind: string) {
    const place =
      host === address ? `address ${address} is` : `${JSON.stringify(host)} stands for ${address}, which is`;
    super('address_refused', `${place} not public (${kind}), so nothing was sent`, {
      hint: 'set `allow_private: true` on the channel if that place is yours; else correct its address',
    });
  }
}

/**
 * The addresses of a host that may be connected to, at least one. Raises `address_refused` when it has only others, and
 * what the resolver raises. A host that is an address itself is judged without asking.
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

export async function openGuardedSocket(
  { host, port }: { host: string; port: number },
  policy: OutboundPolicy,
  signal: AbortSignal,
): Promise<Socket> {
  const fault = refusedLiteral(host, policy);
  if (fault !== null) throw fault;
  const socket = connect({ host, port, lookup: guardedLookup(policy), signal });
  // Between two users of the socket nobody else listens, and an error without a listener ends the process.
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

/** Why a host that is an address itself must not be connected to; null for names and for what may. */
export function refusedLiteral(host: string, { allowPrivate }: OutboundPolicy): AddressRefusedError | null {
  const bare = host.replace(/^\[(.*)\]$/, '$1');
  if (allowPrivate || isIP(bare) === 0) return null;
  const kind = nonPublicKind(bare);
  return kind === null ? null : new AddressRefusedError(bare, bare, kind);
}

/**
 * Resolves by the policy. The very addresses that were judged are the ones that are connected to: a name that resolves to
 * something else a moment later gains nothing.
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
