import { expect, test } from 'vitest';
import { explainSmtpRefusal, findSmtpReply } from '../../../src/alerts/channels/smtp-refusals.ts';

const ADDRESSES = { from: 'Ledger <alerts@example.com>', to: ['a@example.com', 'b@example.com'] };

/** Replies as RFC 5321, RFC 4954 and RFC 3463 describe them, and as large providers document theirs. */
test.each<[command: string, response: string, kind: string, fault: RegExp]>([
  [
    'MAIL FROM',
    '550 Sender not allowed',
    'denial',
    /^SMTP 550: the mail server refused the sender alerts@example\.com$/,
  ],
  ['MAIL FROM', '553 5.7.1 Not owned by user', 'denial', /^SMTP 553 5\.7\.1: .* the sender alerts@example\.com$/],
  ['MAIL FROM', '530 5.7.0 Authentication Required', 'denial', /without a login$/],
  ['MAIL FROM', '535 5.7.3 Authentication unsuccessful', 'denial', /refused the login$/],
  ['RCPT TO', '523 Message too long', 'too_large', /a message of this size$/],
  ['MAIL FROM', '552 5.3.4 Message too big for system', 'too_large', /a message of this size$/],
  ['MAIL FROM', '552 Exceeded storage allocation', 'denial', /a quota is used up$/],
  ['MAIL FROM', '451 4.3.0 Try again', 'later', /^SMTP 451 4\.3\.0$/],
  ['RCPT TO', '550 5.1.1 No such user', 'denial', /all recipients: a@example\.com, b@example\.com$/],
  ['RCPT TO', '554 5.7.1 Relay access denied', 'denial', /all recipients/],
  ['RCPT TO', '552 5.2.2 Mailbox full', 'denial', /a quota is used up$/],
  ['RCPT TO', '452 4.2.2 Over quota', 'later', /a limit is reached$/],
  ['RCPT TO', '450 4.2.1 Greylisted', 'later', /^SMTP 450 4\.2\.1$/],
  ['DATA', '452 Insufficient system storage', 'later', /a limit is reached$/],
  ['DATA', '552 Quota exceeded', 'denial', /a quota is used up$/],
  ['DATA', '550 5.7.60 Client does not have permissions to send as this sender', 'denial', /by a rule$/],
  ['DATA', '554 Transaction failed', 'rejected', /refused this message$/],
  ['AUTH PLAIN', '535 5.7.8 Authentication credentials invalid', 'denial', /refused the login$/],
  ['AUTH LOGIN', '534 5.7.9 Application-specific password required', 'denial', /refused the login$/],
  ['AUTH PLAIN', '454 4.7.0 Temporary authentication failure', 'later', /^SMTP 454 4\.7\.0$/],
  ['EHLO', '502 Command not implemented', 'rejected', /^SMTP 502$/],
])('%s answered with %j is %s', (command, response, kind, fault) => {
  const reply = findSmtpReply({ command, response, responseCode: Number(response.slice(0, 3)) });
  expect(reply).not.toBeNull();
  const refusal = explainSmtpRefusal(reply ?? { command: '', status: 0, enhanced: null }, ADDRESSES);
  expect(refusal).toMatchObject({ kind, fault: expect.stringMatching(fault) });
  // Nothing that the server wrote is repeated, and what somebody can allow comes with a remedy.
  expect(refusal.fault).not.toMatch(/Sender not|owned|Greylisted|Quota exceeded|permissions|Relay/);
  if (kind === 'denial') expect(refusal.remedy).toMatch(/^[a-z]+ .{10,}/);
});

test('an error without a reply of a server is no refusal', () => {
  expect(findSmtpReply({ code: 'ECONNREFUSED' })).toBeNull();
});
