import { z } from 'zod';
import { RULES, SEVERITIES } from '../../core/text/alert-words.ts';
import { flag, integer, setting, word } from '../../core/text/setting-kinds.ts';
import { channelAddressRule, hostRule, mailboxRule } from '../rules.ts';
import { obeys, secret } from './obeys.ts';

const TYPE = 'Write `type: log`, `type: webhook`, `type: slack` or `type: email`';

const webAddress = obeys(word, channelAddressRule).describe(
  'Give the https:// address that takes the alerts; http:// is for this machine only',
);
const mailbox = obeys(word, mailboxRule);

/** What all channels can set. */
const routed = {
  name: setting(word, 'Give a name that people will recognise, or remove the line'),
  severities: setting(
    z.array(z.enum(SEVERITIES)).min(1),
    'List the severities that this channel is told of: warning, critical, or remove the line for both',
  ),
  rules: setting(
    z.array(z.enum(RULES)).min(1),
    'List the rules that this channel is told of, such as jump and budget, or remove the line for all',
  ),
  workspaces: setting(
    z.array(word).min(1),
    'List the workspaces that this channel is told of, such as ws-1 or eu-*, or remove the line for all',
  ),
  tenants: setting(
    z.array(word).min(1),
    'List the tenants that this channel is told of, such as acme or trial-*, or remove the line for all',
  ),
  digest_hour: setting(
    integer(0, 23),
    'Give the hour of the daily summary in UTC, from 0 to 23, or remove the line to be told at once',
  ),
  follow_ups: setting(
    z.enum(['digest', 'at_once']),
    'Choose digest, for the daily summary, or at_once for a receiver that closes by itself what an alert has opened',
  ),
  remind_after_hours: setting(integer(1, 720), 'Give hours from 1 to 720, or remove the line: nobody is reminded then'),
};

/** What all channels that send to another machine can set. */
const outbound = {
  ...routed,
  allow_private: setting(flag, 'Write true if the address is inside your own network, or remove the line'),
  ca_file: setting(
    word,
    'Give the path of a readable PEM file with the certificates of your authority, or remove the line',
  ),
  timeout_seconds: setting(integer(1, 30), 'Give whole seconds from 1 to 30, such as 10'),
};

export const channel = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('log').describe(TYPE), ...routed }),
  z.strictObject({
    type: z.literal('webhook').describe(TYPE),
    ...outbound,
    url: webAddress,
    secret: setting(secret, 'Give the secret that the receiver checks signatures with, best as a variable'),
    secrets: setting(
      z.array(secret).min(1),
      'List the new secret and the old one, best as variables; each of them signs',
    ),
  }),
  z.strictObject({ type: z.literal('slack').describe(TYPE), ...outbound, url: webAddress }),
  z.strictObject({
    type: z.literal('email').describe(TYPE),
    ...outbound,
    host: obeys(word, hostRule).describe(
      'Give the name of the mail server, such as smtp.example.com; its port stands in `port`',
    ),
    port: setting(integer(1, 65_535), 'Give the port of the mail server, such as 587 or 465'),
    tls: setting(
      z.enum(['implicit', 'starttls']),
      'Choose starttls (port 587) or implicit (port 465), as the mail server says',
    ),
    allow_insecure: setting(
      flag,
      'Write true only for a mail server that you reach over a network of your own, or remove the line',
    ),
    user: setting(word, 'Give the user name for the mail server, or remove user and password'),
    password: setting(secret, 'Give the password for the mail server, best as a variable, or remove user and password'),
    from: mailbox.describe('Give the sender as name@host or as Name <name@host>'),
    to: z.array(mailbox).min(1).describe('List the recipients below `to:`, each as `- name@host`'),
  }),
]);
