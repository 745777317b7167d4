import { isDeepStrictEqual } from 'node:util';
import type { OidcConfig, ProxyConfig } from '../../../../config/types.ts';
import type { Clock } from '../../../../core/clock.ts';
import { personName } from '../../../../core/text/person-name.ts';
import type { Role } from '../../../../core/text/roles.ts';
import { roleOfGroups } from '../role-of-groups.ts';
import type { SignIn } from '../sessions.ts';
import { Attempts } from './attempts.ts';
import type { OidcProvider } from './oidc-provider.ts';

export interface OidcOptions {
  settings: () => OidcConfig | null;
  proxy: () => ProxyConfig | null;
  clock: Clock;
  /** The clock by which sign-ins that are not finished expire. */
  attemptClock: Pick<Clock, 'monotonic'>;
}

/** Somebody who has signed in at the provider. */
export interface OidcPerson {
  person: string;
  subject: string;
  role: Role | null;
  signIn: SignIn | null;
}

/**
 * Sign-in with OpenID Connect, by the settings of the active configuration. Its library is loaded at the first sign-in.
 */
export class OidcSignIn {
  readonly attempts: Attempts;
  readonly #options: OidcOptions;
  #opened: { settings: OidcConfig; proxy: ProxyConfig | null; provider: OidcProvider } | null = null;

  constructor(options: OidcOptions) {
    this.#options = options;
    this.attempts = new Attempts(options.attemptClock);
  }

  /** Returns the host of the provider; null if none is configured. */
  provider(): string | null {
    const settings = this.#options.settings();
    return settings === null ? null : new URL(settings.issuer).host;
  }

  /** Returns the provider with the current settings; null if none is configured. */
  async open(): Promise<OidcProvider | null> {
    const { settings: settingsNow, proxy: proxyNow, clock } = this.#options;
    const { OidcProvider } = await import('./oidc-provider.ts');
    const [settings, proxy] = [settingsNow(), proxyNow()];
    const opened = this.#opened;
    if (settings !== null && isDeepStrictEqual([opened?.settings, opened?.proxy], [settings, proxy])) {
      return opened?.provider ?? null;
    }
    const provider = settings === null ? null : new OidcProvider(settings, { clock, proxy });
    this.#opened = settings === null || provider === null ? null : { settings, proxy, provider };
    await opened?.provider.close();
    return provider;
  }

  /**
   * Returns the person whom the provider's claims describe. If none of their groups gives a role, `role` and `signIn`
   * are null.
   */
  personOf({ subject, claims }: { subject: string; claims: Readonly<Record<string, unknown>> }): OidcPerson {
    const settings = this.#options.settings();
    const names = [settings?.nameClaim ?? '', 'name', 'preferred_username', 'email'].map((claim) => claims[claim]);
    const found = names.find((name): name is string => typeof name === 'string' && name.trim() !== '');
    const person = personName(found ?? subject) ?? subject;
    const groups = textsOf(claims[settings?.roles.claim ?? '']);
    const role = settings === null ? null : roleOfGroups(groups, settings.roles);
    return { person, subject, role, signIn: role === null ? null : this.#signInOf(person, role, groups) };
  }

  async close(): Promise<void> {
    const opened = this.#opened;
    this.#opened = null;
    await opened?.provider.close();
  }

  /**
   * Returns the sign-in of a person. It stays valid until a reload changes the provider or the role of the person's
   * groups.
   */
  #signInOf(person: string, role: Role, groups: readonly string[]): SignIn {
    const { settings } = this.#options;
    const begun = settings();
    const holds = (): boolean => {
      const now = settings();
      const isSameProvider = now?.issuer === begun?.issuer && now?.clientId === begun?.clientId;
      return now !== null && isSameProvider && roleOfGroups(groups, now.roles) === role;
    };
    return { method: 'oidc', caller: { name: person, role }, person, holds };
  }
}

/** Returns the texts of a claim, which is either a list or a single text. */
function textsOf(claim: unknown): string[] {
  return [claim].flat().filter((value): value is string => typeof value === 'string');
}
