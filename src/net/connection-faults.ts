/** The description of a failed connection. */
interface ConnectionFault {
  /**
   * The problem and the error code, such as `connection refused (ECONNREFUSED)`; only the code if it is unknown here.
   */
  text: string;
  /** What to do about the problem, as an imperative; undefined if the problem may pass by itself. */
  remedy: string | undefined;
  /** True if it is certain that the server did not get the request. */
  neverSent: boolean;
  /** True if the certificate of the server was rejected. */
  isUntrusted: boolean;
}

interface FaultRow {
  problem: string;
  remedy?: string;
  neverSent?: boolean;
}

const WRONG_NAME: FaultRow = {
  problem: 'the host name does not resolve',
  remedy: 'check the address and the name server',
  neverSent: true,
};
const NO_ROUTE: FaultRow = {
  problem: 'no route to the host',
  remedy: 'check the address and the network',
  neverSent: true,
};

/**
 * The problems and remedies for error codes of undici, Node, OpenSSL and nodemailer. Alerts, `status` and `doctor` show
 * these texts.
 */
const FAULT_BY_CODE: Readonly<Record<string, FaultRow>> = {
  ECONNREFUSED: {
    problem: 'connection refused',
    remedy: 'check the address, and that the server runs',
    neverSent: true,
  },
  ECONNRESET: { problem: 'connection reset' },
  ENOTFOUND: WRONG_NAME,
  EDNS: WRONG_NAME,
  EAI_AGAIN: { problem: 'the name server does not respond', neverSent: true },
  EHOSTUNREACH: NO_ROUTE,
  ENETUNREACH: NO_ROUTE,
  // This code is also used for an established connection, so the server may have received the request.
  ETIMEDOUT: { problem: 'connection timed out' },
  UND_ERR_CONNECT_TIMEOUT: { problem: 'connection timed out', neverSent: true },
  UND_ERR_HEADERS_TIMEOUT: { problem: 'the server did not respond in time' },
  UND_ERR_BODY_TIMEOUT: { problem: 'the response stalled' },
  UND_ERR_SOCKET: { problem: 'the server closed the connection' },
  UND_ERR_HEADERS_OVERFLOW: {
    problem: 'the response headers are too large',
    remedy: 'report this to the operator of the server',
  },
  EAUTH: { problem: 'the login failed', neverSent: true },
  ERR_SSL_WRONG_VERSION_NUMBER: {
    problem: 'the server does not speak TLS',
    remedy: 'check the address, its port, and any proxy on the way',
    neverSent: true,
  },
  CERT_HAS_EXPIRED: { problem: "the server's certificate has expired" },
  DEPTH_ZERO_SELF_SIGNED_CERT: {
    problem: 'the certificate is self-signed, and it is not in `ca_file`',
    remedy: 'to trust it, set its file in `ca_file` or NODE_EXTRA_CA_CERTS',
  },
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: {
    problem: 'the certificate authority is unknown, and it is not in `ca_file`',
    remedy:
      'set the file of a private authority in `ca_file` or NODE_EXTRA_CA_CERTS; for a public one, let the server send its intermediate certificate',
  },
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: {
    problem: 'the certificate authority is unknown, and it is not in `ca_file`',
    remedy: 'set the file of a private authority in `ca_file` or NODE_EXTRA_CA_CERTS',
  },
  SELF_SIGNED_CERT_IN_CHAIN: {
    problem: 'the certificate authority is private, and it is not in `ca_file`',
    remedy: 'to trust it, set its file in `ca_file` or NODE_EXTRA_CA_CERTS',
  },
  ERR_TLS_CERT_ALTNAME_INVALID: { problem: 'the certificate belongs to another host', remedy: 'check the address' },
};

/**
 * Matches the codes that mean that the server's certificate was rejected. Node checks the certificate before it sends a
 * request.
 */
const CERTIFICATE_CODES = /^(CERT_|ERR_TLS_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/;
const CONNECT_TIMEOUTS: readonly string[] = ['ETIMEDOUT', 'UND_ERR_CONNECT_TIMEOUT'];
/**
 * Matches the codes of undici and Node for a request that cannot be built, because of a defect in this program or a
 * wrong setting.
 */
const REQUEST_DEFECTS = /^(UND_ERR_INVALID_|UND_ERR_NOT_SUPPORTED|ERR_ASSERTION|ERR_INVALID_)/;
const CLOSED_CODES: readonly string[] = ['UND_ERR_CLOSED', 'UND_ERR_DESTROYED'];

export function connectionFault(code: string): ConnectionFault {
  const row = FAULT_BY_CODE[code];
  const isUntrusted = CERTIFICATE_CODES.test(code);
  return {
    text: row === undefined ? code : `${row.problem} (${code})`,
    remedy: row?.remedy,
    neverSent: isUntrusted || row?.neverSent === true,
    isUntrusted,
  };
}

/** Returns the code of an error of undici, Node or a library; null if the error has no code. */
export function errorCode(error: unknown): string | null {
  return error instanceof Error && 'code' in error && error.code !== undefined ? String(error.code) : null;
}

/** Reports whether the code means that the connection was not established in time. */
export function isConnectTimeout(code: string): boolean {
  return CONNECT_TIMEOUTS.includes(code);
}

/** Reports whether the code means that the request cannot be built. The network has no part in this failure. */
export function isRequestDefect(code: string): boolean {
  return REQUEST_DEFECTS.test(code);
}

/** Reports whether the code means that this program itself closed the connections that the request was to use. */
export function isClosedByUs(code: string): boolean {
  return CLOSED_CODES.includes(code);
}
