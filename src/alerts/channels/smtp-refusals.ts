/** A reply with which a mail server refuses a command. */
export interface SmtpReply {
  /** The command that was refused, as nodemailer names it: `MAIL FROM`, `RCPT TO`, `DATA`, `AUTH PLAIN`. */
  command: string;
  /** The three-digit code, for example 550. */
  status: number;
  /** The status code of RFC 3463 that the reply begins with, such as `5.7.1`; null without one. */
  enhanced: string | null;
}

/** The meaning of a refusal: the fault in words, the remedy, and how the delivery goes on. */
export interface SmtpRefusal {
  /** Status and refused item: `SMTP 550: the mail server refused the sender a@example.com`. */
  fault: string;
  /** Null if only the status is known. */
  remedy: string | null;
  /**
   * `denial`: refused until the operator of the mail server or of the channel changes a setting. `later`: a later
   * attempt may succeed. `rejected`: the same message would be refused again.
   */
  kind: 'denial' | 'later' | 'too_large' | 'rejected';
}

interface Addresses {
  from: string;
  to: readonly string[];
}

interface RefusalRow {
  command: RegExp;
  /** Reports whether the row applies. Statuses are those of RFC 5321, 4.2 and RFC 4954, 6, and RFC 3463 if enhanced. */
  when: (reply: SmtpReply) => boolean;
  kind: SmtpRefusal['kind'];
  refused: (addresses: Addresses) => string;
  remedy: string;
}

const ANY = /^/;
const MAIL = /^(MAIL FROM|RCPT TO|DATA)$/;
const isStatus =
  (...statuses: readonly number[]) =>
  ({ status }: SmtpReply): boolean =>
    statuses.includes(status);
const isPermanent = ({ status }: SmtpReply): boolean => status >= 500;
const QUOTA = 'make room in the mailbox, or raise the quota of sender and recipients there';
const LOGIN_REMEDY = 'correct `user` and `password` of the channel, or unlock the account';

/** Returns the address alone, also from the form `Name <address>`. */
function bareAddress(text: string): string {
  return /<([^<>]+)>$/.exec(text)?.[1] ?? text;
}

/** The meanings of replies. The first row that matches a reply applies. */
const ROWS: readonly RefusalRow[] = [
  // 523 and 5.3.4 mean that this message is too large, whichever command was answered.
  {
    command: ANY,
    when: ({ status, enhanced }) => status === 523 || enhanced === '5.3.4' || enhanced === '5.2.3',
    kind: 'too_large',
    refused: () => 'a message of this size',
    remedy: 'raise the limit of the mail server',
  },
  {
    command: /^AUTH/,
    when: isPermanent,
    kind: 'denial',
    refused: () => 'the login',
    remedy: LOGIN_REMEDY,
  },
  {
    command: ANY,
    when: isStatus(530),
    kind: 'denial',
    refused: () => 'mail without a login',
    remedy: 'set `user` and `password` of the channel',
  },
  {
    command: ANY,
    when: isStatus(534, 535, 538),
    kind: 'denial',
    refused: () => 'the login',
    remedy: LOGIN_REMEDY,
  },
  {
    command: MAIL,
    when: ({ status, enhanced }) => status === 552 || enhanced === '5.2.2',
    kind: 'denial',
    refused: () => 'more mail: a quota is used up',
    remedy: QUOTA,
  },
  {
    command: MAIL,
    when: ({ status, enhanced }) => status === 452 || enhanced === '4.2.2',
    kind: 'later',
    refused: () => 'more mail for now: a limit is reached',
    remedy: QUOTA,
  },
  {
    command: /^MAIL FROM$/,
    when: isPermanent,
    kind: 'denial',
    refused: ({ from }) => `the sender ${bareAddress(from)}`,
    remedy: 'allow the login of the channel to send as that address, or correct `from`',
  },
  {
    command: /^RCPT TO$/,
    when: isPermanent,
    kind: 'denial',
    refused: ({ to }) => (to.length === 1 ? `the recipient ${to[0]}` : `all recipients: ${to.join(', ')}`),
    remedy: 'create these mailboxes or allow mail to them, or correct `to`',
  },
  // Some servers check the sender only after they received the message.
  {
    command: /^DATA$/,
    when: ({ enhanced }) => enhanced?.startsWith('5.7.') === true,
    kind: 'denial',
    refused: ({ from }) => `mail of the sender ${bareAddress(from)} by a rule`,
    remedy: 'allow that sender there (send-as right, SPF, DKIM, relay), or correct `from`',
  },
  {
    command: /^DATA$/,
    when: isPermanent,
    kind: 'rejected',
    refused: () => 'this message',
    remedy: 'ask the operator of the mail server for its log',
  },
];

/** Returns what a reply means for the delivery. */
export function explainSmtpRefusal(reply: SmtpReply, addresses: Addresses): SmtpRefusal {
  const row = ROWS.find(({ command, when }) => command.test(reply.command) && when(reply));
  const status = reply.enhanced === null ? `SMTP ${reply.status}` : `SMTP ${reply.status} ${reply.enhanced}`;
  if (row === undefined) return { fault: status, remedy: null, kind: reply.status >= 500 ? 'rejected' : 'later' };
  const { kind, refused, remedy } = row;
  return { fault: `${status}: the mail server refused ${refused(addresses)}`, remedy, kind };
}

/** Returns the reply in an error of nodemailer; null if no server has answered. */
export function findSmtpReply(error: unknown): SmtpReply | null {
  const {
    command = '',
    responseCode,
    response,
  } = error as Partial<Record<'command' | 'response', string>> & {
    responseCode?: number;
  };
  if (responseCode === undefined) return null;
  // Only the status code is kept, because the rest of the reply may quote the message.
  const enhanced = /^\d{3}[ -]([245]\.\d{1,3}\.\d{1,3})\b/.exec(response ?? '')?.[1] ?? null;
  return { command, status: responseCode, enhanced };
}
