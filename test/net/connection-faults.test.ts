import { expect, test } from 'vitest';
import { systemFault } from '../../src/core/errors.ts';
import { connectionFault } from '../../src/net/connection-faults.ts';
import { toOutboundError } from '../../src/net/outbound-errors.ts';

// cspell:ignore esomething

const failed = (code: string, more: object = {}) => Object.assign(new Error('secret text'), { code, ...more });

test.each([
  ['ECONNREFUSED', 'connection refused (ECONNREFUSED)'],
  ['ECONNRESET', 'connection reset (ECONNRESET)'],
  ['ENOTFOUND', 'the host name does not resolve (ENOTFOUND)'],
  ['UND_ERR_SOCKET', 'the server closed the connection (UND_ERR_SOCKET)'],
  ['ETIMEDOUT', 'connection timed out (ETIMEDOUT)'],
  ['UND_ERR_CONNECT_TIMEOUT', 'connection timed out (UND_ERR_CONNECT_TIMEOUT)'],
  ['CERT_HAS_EXPIRED', "the server's certificate has expired (CERT_HAS_EXPIRED)"],
  ['E_OTHER', 'E_OTHER'],
])('%s reads %j', (code, text) => {
  expect(connectionFault(code).text).toBe(text);
  expect(toOutboundError(failed(code)).message).toBe(`the connection failed: ${text}`);
});

test.each([
  // The connection was never established, or TLS failed before the request.
  ...['ECONNREFUSED', 'ENOTFOUND', 'EDNS', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT'],
  ...['ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_TLS_CERT_ALTNAME_INVALID', 'CERT_HAS_EXPIRED', 'CERT_REVOKED'],
  ...['DEPTH_ZERO_SELF_SIGNED_CERT', 'SELF_SIGNED_CERT_IN_CHAIN', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
  ...['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'EAUTH'],
])('after %s the server certainly did not get the request', (code) => {
  expect(connectionFault(code).neverSent).toBe(true);
  expect(toOutboundError(failed(code))).toMatchObject({ neverSent: true });
});

test.each(['ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'UND_ERR_SOCKET', 'UND_ERR_HEADERS_TIMEOUT', 'E_OTHER', 'unknown'])(
  'after %s the server may have the request',
  (code) => {
    expect(connectionFault(code).neverSent).toBe(false);
  },
);

test('a rejected certificate is not a connection to try again, and its remedy names the setting', () => {
  for (const code of ['DEPTH_ZERO_SELF_SIGNED_CERT', 'SELF_SIGNED_CERT_IN_CHAIN', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE']) {
    expect(connectionFault(code)).toMatchObject({ isUntrusted: true, remedy: expect.stringContaining('`ca_file`') });
  }
  expect(connectionFault('ECONNREFUSED').isUntrusted).toBe(false);
});

test('an error shows its code and never its text, which may quote headers', () => {
  for (const error of [failed('EPIPE'), failed('UND_ERR_INVALID_ARG'), new Error('secret text')]) {
    const shown = toOutboundError(error);
    expect(`${shown.message} ${shown.hint} ${shown.cause}`).not.toContain('secret');
  }
  expect(toOutboundError(failed('UND_ERR_INVALID_ARG'))).toMatchObject({
    code: 'invalid_http_request',
    neverSent: true,
  });
});

test('a full disk while a response is stored is a fault of this machine; a connection that a firewall forbids is not', () => {
  const full = failed('ENOSPC', { syscall: 'write' });
  expect(toOutboundError(full)).toMatchObject({ code: 'disk_full', hint: systemFault(full)?.hint });
  expect(toOutboundError(failed('EPERM', { syscall: 'connect' }))).toMatchObject({
    code: 'unreachable',
    message: 'the connection failed: EPERM',
  });
});
