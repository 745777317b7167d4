import { OutboundError } from './outbound-errors.ts';

interface ProxyRefusal {
  reason: string;
  remedy: string;
  /** True if the refusal lasts until somebody changes a setting; false if it may pass by itself. */
  isDenial: boolean;
}

const LOGIN = {
  reason: 'its user or password is missing or wrong',
  remedy: 'set both in `proxy` or HTTPS_PROXY: http://user:password@host:3128, with `@` in the password as %40',
  isDenial: true,
};
const ALLOW_HOST =
  'the proxy does not let it through: allow CONNECT to that host and port there, or list the host in NO_PROXY';
const NO_PROXY_ROUTE = {
  reason: 'it cannot reach that host',
  remedy: 'check the network of the proxy, and that the host is up',
  isDenial: false,
};

/**
 * The reason and the remedy for each status with which a proxy can refuse a CONNECT request (RFC 9110, 9.3.6 and 15).
 */
const PROXY_REFUSALS: Readonly<Record<number, ProxyRefusal>> = {
  401: LOGIN,
  403: { reason: 'it does not allow this connection', remedy: ALLOW_HOST, isDenial: true },
  405: { reason: 'it does not allow CONNECT', remedy: ALLOW_HOST, isDenial: true },
  407: LOGIN,
  429: { reason: 'it has had too many requests', remedy: 'raise the limit of the proxy', isDenial: false },
  502: NO_PROXY_ROUTE,
  503: NO_PROXY_ROUTE,
  504: NO_PROXY_ROUTE,
};
const UNKNOWN_REFUSAL: ProxyRefusal = {
  reason: 'unexpected status',
  remedy: 'check the address of the proxy, and its log',
  isDenial: false,
};

/**
 * The error for a CONNECT request that the proxy refused. Nothing was sent to the host that the proxy should have
 * reached.
 */
export class ProxyRefusedError extends OutboundError {
  readonly status: number;
  readonly isDenial: boolean;

  /** `target` is the host and port to which the proxy should have connected. */
  constructor(target: string, status: number) {
    const { reason, remedy, isDenial } = PROXY_REFUSALS[status] ?? UNKNOWN_REFUSAL;
    super('proxy_refused', `the proxy refused CONNECT to ${target} (${status}): ${reason}`, {
      retryable: true,
      hint: remedy,
      neverSent: true,
    });
    this.status = status;
    this.isDenial = isDenial;
  }
}
