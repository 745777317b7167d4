import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';

/** A key and a certificate, both PEM. */
export interface Identity {
  key: string;
  cert: string;
}

/** A key and a certificate of its own making for `localhost`, as a server has them before anybody signs one. */
export function selfSigned(): Identity {
  const keys = newKeys();
  return identity(keys, certificate('localhost', keys, 'localhost', keys.privateKey));
}

/** An authority that nobody knows, and what it has signed for a host. */
export function privateAuthority(host = 'localhost'): { ca: string; server: Identity } {
  const authority = newKeys();
  const server = newKeys();
  return {
    ca: certificate('an authority of our own', authority, 'an authority of our own', authority.privateKey),
    server: identity(server, certificate(host, server, 'an authority of our own', authority.privateKey)),
  };
}

interface Keys {
  privateKey: KeyObject;
  publicKey: KeyObject;
}

function newKeys(): Keys {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' });
}

function identity({ privateKey }: Keys, cert: string): Identity {
  return { key: String(privateKey.export({ type: 'pkcs8', format: 'pem' })), cert };
}

function certificate(subject: string, { publicKey }: Keys, issuer: string, signer: KeyObject): string {
  const ecdsaWithSha256 = der(0x30, der(0x06, Buffer.from('2a8648ce3d040302', 'hex')));
  const body = der(
    0x30,
    der(0x02, Buffer.from([1])),
    ecdsaWithSha256,
    nameOf(issuer),
    der(0x30, time(-1), time(1)),
    nameOf(subject),
    publicKey.export({ type: 'spki', format: 'der' }),
  );
  const signature = sign('sha256', body, signer);
  const signed = der(0x30, body, ecdsaWithSha256, der(0x03, Buffer.from([0]), signature));
  // No line may be empty, whatever the length.
  const lines = signed.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}

function nameOf(commonName: string): Buffer {
  const attribute = der(0x30, der(0x06, Buffer.from('550403', 'hex')), der(0x0c, Buffer.from(commonName)));
  return der(0x30, der(0x31, attribute));
}

function time(days: number): Buffer {
  const at = new Date(Date.now() + days * 86_400_000).toISOString();
  return der(0x17, Buffer.from(`${at.slice(2, 19).replace(/[-:T]/g, '')}Z`));
}

/** One value of the encoding that certificates are written in. */
function der(tag: number, ...contents: Buffer[]): Buffer {
  const content = Buffer.concat(contents);
  const { length } = content;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}
