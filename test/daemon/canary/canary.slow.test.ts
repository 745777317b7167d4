import { expect, test } from 'vitest';
import { SHARED_SECRETS } from './hostile-receivers.ts';
import { FAULTS } from './hostile-service.ts';
import { type Played, play } from './play.ts';

let played: Promise<Played> | undefined;
const playOnce = (): Promise<Played> => {
  played ??= play();
  return played;
};

/** A value in every form in which it could be read back. */
function formsOf(value: string): string[] {
  const bytes = Buffer.from(value);
  const basic = Buffer.from(`user:${value}`).toString('base64');
  return [
    ...[value, value.toLowerCase(), value.toUpperCase(), encodeURIComponent(value)],
    ...[bytes.toString('base64').replace(/=+$/, ''), bytes.toString('base64url'), basic.replace(/=+$/, '')],
    ...[bytes.toString('hex'), bytes.toString('hex').toUpperCase()],
  ];
}

/** The places where one of the values stands, with what stands around it. */
function found(places: Played['places'], values: readonly string[]): string[] {
  const forms = [...new Set(values.flatMap(formsOf))];
  return [...places].flatMap(([place, text]) => {
    const form = forms.find((each) => text.includes(each));
    if (form === undefined) return [];
    const at = text.indexOf(form);
    return [`${place}: ...${text.slice(Math.max(0, at - 150), at + 150)}...`];
  });
}

test.each(Object.entries(FAULTS))(
  '%s carries neither secret key nor signature into log, error, Redis, ledger, page, message or process list',
  async (name, { code, quoted }) => {
    const { faults, places } = await playOnce();
    const fault = faults.get(name);
    if (fault === undefined) throw new Error(`${name} was not played`);
    // By hand, by the daemon, and once more where the rest of it all took long.
    expect(fault.codes.length).toBeGreaterThanOrEqual(2);
    expect(new Set(fault.codes)).toEqual(new Set([code]));
    expect(fault.signatures.length).toBeGreaterThan(0);
    // What the service said has come as far as the sanitiser, so its absence is the sanitiser's doing.
    for (const message of fault.messages) expect(message.includes('[redacted]'), message).toBe(quoted);
    expect(found(places, [fault.secret, ...fault.signatures])).toEqual([]);
  },
  240_000,
);

test.each(Object.entries(SHARED_SECRETS))(
  'the secret of %s, which its receiver repeats, stands nowhere',
  async (_, secret) => {
    const { places } = await playOnce();
    expect(found(places, [secret])).toEqual([]);
  },
);
