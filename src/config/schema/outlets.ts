import { z } from 'zod';
import { PERIOD_FORM } from '../../core/period.ts';
import { flag, integerBetween, nonEmptyString, setting } from '../../core/text/setting-kinds.ts';
import { channelAddressRule, fileNameRule } from '../rules.ts';
import {
  address,
  caFile,
  camelCased,
  nonEmptyList,
  nullable,
  type ReportFault,
  refineAll,
  secret,
  withRule,
} from './kinds.ts';

const commonSettings = {
  name: withRule(nonEmptyString, fileNameRule).describe(
    'Give a name of small letters, digits, - and _; it cannot be changed later',
  ),
  workspaces: nullable(
    nonEmptyList(nonEmptyString),
    'List the workspaces whose usage is sent, or remove the line for all',
  ),
  customer: setting(
    z
      .string()
      .regex(/^(tenant_id|external_ref|label:.+)$/, { error: 'is none of tenant_id, external_ref, label:NAME' }),
    "Choose the tenant's id in the billing system: tenant_id, external_ref, or label:NAME for one of its labels",
    'tenant_id',
  ),
  send: setting(z.enum(['credits', 'requests']), 'Choose what is sent: credits or requests', 'credits'),
  from_period: nullable(
    z.string().regex(PERIOD_FORM, { error: 'is not a month such as 2026-10' }),
    'Give the first month that is sent, YYYY-MM, or remove the line and give it with `outlets start --from`',
  ),
  allow_private: setting(flag, 'Write true if the address is inside your own network, or remove the line', false),
  ca_file: caFile,
  timeout_seconds: setting(integerBetween(1, 120), 'Give whole seconds from 1 to 120, such as 30', 30),
};

const webhookOutlet = refineAll(
  z.strictObject({
    type: z.literal('webhook').describe('Choose the kind of the receiver: webhook'),
    ...commonSettings,
    url: withRule(nonEmptyString, channelAddressRule).describe('Give the https:// address that takes the events'),
    secret: setting(secret, 'Give the secret that the receiver checks signatures with, best as a variable'),
    secrets: setting(
      nonEmptyList(secret),
      'List the new secret and the old one, best as variables; each request is signed with both',
    ),
    events_per_request: setting(
      integerBetween(1, 1000),
      'Give the maximum number of events in a request, from 1 to 1000',
      100,
    ),
    requests_per_second: setting(
      integerBetween(1, 1000),
      'Give whole requests a second from 1 to 1000, such as 20',
      20,
    ),
    remembers_hours: setting(
      integerBetween(1, 87_600),
      'Give the hours for which the receiver ignores a repeated event id, such as 168',
      168,
    ),
  }),
  checkWebhook,
);

function checkWebhook({ secret, secrets }: Record<PropertyKey, unknown>, report: ReportFault): void {
  if ((secret === undefined) === (secrets === undefined)) {
    report(
      ['secret'],
      secret === undefined ? 'is missing' : 'conflicts with secrets',
      'Give one of secret and secrets',
    );
  }
}

const token = secret.describe('Give the key or token that the billing system has given you, best as a variable');

const stripe = z.strictObject({
  type: z.literal('stripe').describe('Choose the kind of the receiver: stripe'),
  ...commonSettings,
  url: setting(address, 'Give the address of a stand-in for Stripe, or remove the line', 'https://api.stripe.com'),
  token,
  meter: nonEmptyString.describe('Give the id of the meter in Stripe, mtr_...'),
});

const metronome = z.strictObject({
  type: z.literal('metronome').describe('Choose the kind of the receiver: metronome'),
  ...commonSettings,
  url: setting(address, 'Give the address of Metronome, or remove the line', 'https://api.metronome.com'),
  token,
  meter: nonEmptyString.describe('Give the id of the billable metric in Metronome'),
});

const openmeter = z.strictObject({
  type: z.literal('openmeter').describe('Choose the kind of the receiver: openmeter'),
  ...commonSettings,
  url: address.describe('Give the address of OpenMeter, such as https://openmeter.example.com'),
  token: nullable(
    secret,
    'Give the API key, best as a variable, or remove the line for an OpenMeter that asks for none',
  ),
  meter: nonEmptyString.describe('Give the slug of the meter in OpenMeter'),
});

const lago = z.strictObject({
  type: z.literal('lago').describe('Choose the kind of the receiver: lago'),
  ...commonSettings,
  url: setting(address, 'Give the address of the API, with its /api/v1', 'https://api.getlago.com/api/v1'),
  token,
  meter: nonEmptyString.describe('Give the code of the billable metric in Lago'),
});

export const outletSchema = z
  .discriminatedUnion('type', [webhookOutlet, stripe, metronome, openmeter, lago])
  .transform((given) => {
    if (given.type !== 'webhook') {
      const { timeout_seconds, ca_file: ca, ...settings } = given;
      return camelCased({ ...settings, ca, timeout_ms: timeout_seconds * 1000 });
    }
    const { secret, secrets, timeout_seconds, remembers_hours, ca_file: ca, ...settings } = given;
    return camelCased({
      ...settings,
      ca,
      timeout_ms: timeout_seconds * 1000,
      remembers_ms: remembers_hours * 3_600_000,
      secrets: secrets ?? [secret ?? ''],
    });
  });
