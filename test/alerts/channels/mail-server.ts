import { once } from 'node:events';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { onTestFinished } from 'vitest';
import { selfSigned } from '../../support/net/self-signed.ts';

const CERTIFICATE = selfSigned();

/** One message as the server took it. */
export interface TakenMail {
  from: string;
  to: string[];
  secure: boolean;
  user: string | undefined;
  raw: string;
}

export interface MailServer {
  port: number;
  taken: TakenMail[];
}

/** A mail server on a real socket, with a certificate that nobody has signed. Closed when the test has finished. */
export async function startMailServer({
  judge = () => null,
  ...options
}: SMTPServerOptions & {
  /** The fault with which a whole message is refused; null takes it. */
  judge?: () => Error | null;
} = {}): Promise<MailServer> {
  const taken: TakenMail[] = [];
  const server = new SMTPServer({
    ...CERTIFICATE,
    authOptional: true,
    disableReverseLookup: true,
    closeTimeout: 100,
    onData(stream, session, callback) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const fault = judge();
        if (fault !== null) return callback(fault);
        const { mailFrom, rcptTo } = session.envelope;
        taken.push({
          from: mailFrom === false ? '' : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          secure: session.secure,
          user: session.user as string | undefined,
          raw: Buffer.concat(chunks).toString('utf8'),
        });
        return callback();
      });
    },
    ...options,
  });
  server.on('error', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server.server, 'listening');
  onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())));
  const address = server.server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return { port: address.port, taken };
}

/** The headers of a message by lower-case name, unfolded, and its text parts by content type, decoded. */
export function readMail(raw: string): { headers: Map<string, string[]>; parts: Map<string, string> } {
  const { headers, body } = split(raw);
  const boundary = /boundary="([^"]+)"/.exec(headers.get('content-type')?.[0] ?? '')?.[1];
  const parts = new Map<string, string>();
  for (const part of boundary === undefined ? [] : body.split(`--${boundary}`).slice(1, -1)) {
    const inner = split(part.replace(/^\r\n/, ''));
    const type = inner.headers.get('content-type')?.[0]?.split(';')[0] ?? '';
    parts.set(type, decode(inner.body, inner.headers.get('content-transfer-encoding')?.[0] ?? '7bit'));
  }
  return { headers, parts };
}

function split(raw: string): { headers: Map<string, string[]>; body: string } {
  const end = raw.indexOf('\r\n\r\n');
  const headers = new Map<string, string[]>();
  for (const line of raw
    .slice(0, end)
    .replace(/\r\n[ \t]+/g, ' ')
    .split('\r\n')) {
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).toLowerCase();
    headers.set(name, [...(headers.get(name) ?? []), line.slice(colon + 1).trim()]);
  }
  return { headers, body: raw.slice(end + 4) };
}

/** Words that were encoded for a header, as a mail program shows them. */
export function shownHeader(value: string): string {
  return value
    .replace(/\?=\s+=\?/g, '?==?')
    .replace(/=\?utf-8\?q\?(.*?)\?=/gi, (_, word: string) => decode(word.replaceAll('_', ' '), 'quoted-printable'))
    .replace(/=\?utf-8\?b\?(.*?)\?=/gi, (_, word: string) => decode(word, 'base64'));
}

function decode(body: string, encoding: string): string {
  if (encoding === 'base64') return Buffer.from(body, 'base64').toString('utf8');
  if (encoding !== 'quoted-printable') return body;
  const bytes = body
    .replace(/=\r\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString('utf8');
}
