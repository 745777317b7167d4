import ipaddr from 'ipaddr.js';
import { z } from 'zod';
import { asList, asMapping } from '../../core/text/path.ts';
import { ROLES } from '../../core/text/roles.ts';
import { nonEmptyString, setting } from '../../core/text/setting-kinds.ts';
import { isLoopbackHost } from '../../net/local-address.ts';
import { addressRule, type Rule } from '../rules.ts';
import type { ProxySignInConfig } from '../types.ts';
import { caFile, nonEmptyList, nullable, type ReportFault, refineAll, secret, withRule } from './kinds.ts';

const groups = (role: string) =>
  setting(z.array(nonEmptyString), `List the groups that get the role ${role}, or ['*'] for everybody`, []);
const groupsOfRoles = { finance: groups('finance'), operate: groups('operate'), read: groups('read') };

const requireSomeRole = (roles: Record<PropertyKey, unknown>, report: ReportFault): void => {
  if (ROLES.some((role) => asList(roles[role]).length > 0)) return;
  report([], 'gives nobody a role', 'List at least one group below `finance:`, `operate:` or `read:`');
};

/** Accepts a text of visible ASCII characters without spaces, as OAuth allows for a scope. */
const scopeRule: Rule = (text) => (/^[\x21\x23-\x5b\x5d-\x7e]+$/.test(text) ? null : 'is not the name of a scope');

export const oidcSchema = z
  .strictObject({
    // The issuer is not normalized: it may end with a slash, and each ID token contains it exactly as the provider
    // writes it.
    issuer: withRule(nonEmptyString, addressRule).describe(
      'Give the issuer of the sign-in provider exactly as it writes it, such as https://login.example.com/realms/ours',
    ),
    client_id: nonEmptyString.describe('Give the id under which the provider knows this program'),
    client_secret: nullable(
      secret,
      'Give the secret of the client, best as a variable, client_secret_file or client_secret_command; or remove it',
    ),
    scopes: setting(
      nonEmptyList(withRule(nonEmptyString, scopeRule)),
      'List the scopes that give name and groups, such as [openid, profile, groups]',
      ['openid', 'profile', 'email'],
    ),
    name_claim: setting(nonEmptyString, 'Give the claim with the name of the person, such as name or email', 'name'),
    roles: refineAll(
      z.strictObject({
        claim: setting(nonEmptyString, 'Give the claim that lists the groups of a person, such as groups', 'groups'),
        ...groupsOfRoles,
      }),
      requireSomeRole,
    ).describe('Write `roles:` with lists of groups below it: `finance:`, `operate:`, `read:`'),
    ca_file: caFile,
  })
  .transform(({ client_id, client_secret, scopes, name_claim, ca_file: ca = null, ...given }) => ({
    ...given,
    clientId: client_id,
    clientSecret: client_secret,
    // Without the scope `openid`, the provider returns no ID token.
    scopes: [...new Set(['openid', ...scopes])],
    nameClaim: name_claim,
    ca,
  }));

const headerRule: Rule = (text) =>
  /^[A-Za-z0-9-]{1,80}$/.test(text) ? null : 'is not the name of a header: letters, digits and -';

const networkRule: Rule = (text) => {
  const network = text.includes('/') ? text : `${text}/${text.includes(':') ? 128 : 32}`;
  if (!ipaddr.isValidCIDR(network)) return 'is neither an IP address nor a network such as 10.0.0.0/24';
  return network.endsWith('/0') ? 'is every address, which would let anybody sign in as anybody' : null;
};

export const proxySignInSchema = z.strictObject({
  user_header: withRule(nonEmptyString, headerRule).describe(
    'Give the header in which the proxy names the person, such as X-Forwarded-User',
  ),
  groups_header: setting(
    withRule(nonEmptyString, headerRule),
    'Give the header in which the proxy lists the groups, separated by commas, or remove the line for none',
    'X-Forwarded-Groups',
  ),
  trusted_addresses: setting(
    z.array(withRule(nonEmptyString, networkRule)),
    'List the addresses of the proxy, such as [10.0.0.5, 10.1.0.0/24]',
    [],
  ),
  roles: refineAll(z.strictObject(groupsOfRoles), requireSomeRole).describe(
    'Write `roles:` with lists of groups below it: `finance:`, `operate:`, `read:`',
  ),
});

/**
 * Converts the settings of `proxy_sign_in` to the form that the program uses. The schema does not do it, because
 * `checkSignIn` reads the settings as written.
 */
export function proxySignInOf({
  user_header,
  groups_header,
  trusted_addresses,
  roles,
}: z.output<typeof proxySignInSchema>): ProxySignInConfig {
  return {
    userHeader: user_header.toLowerCase(),
    groupsHeader: groups_header.toLowerCase(),
    trustedAddresses: trusted_addresses,
    roles,
  };
}

/** Checks that each way to sign in has what it needs when other machines can reach the pages. */
export function checkSignIn(http: Record<PropertyKey, unknown>, report: ReportFault): void {
  const { host, public_url: publicUrl } = http;
  if (typeof host !== 'string' || isLoopbackHost(host)) return;
  if (isGiven(http.proxy_sign_in) && asList(asMapping(http.proxy_sign_in).trusted_addresses).length === 0) {
    report(
      ['proxy_sign_in', 'trusted_addresses'],
      'is empty, but http.host can be reached from other machines, which could all send the headers',
    );
  }
  if (isGiven(http.oidc) && !isGiven(publicUrl)) {
    report(['public_url'], 'is missing, but the sign-in provider sends people back to it');
  }
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null && value !== '';
}
