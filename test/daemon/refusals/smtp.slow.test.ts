import type { SMTPServerOptions } from 'smtp-server';
import { expect, test } from 'vitest';
import { readMail, startMailServer } from '../../alerts/channels/mail-server.ts';
import { expectBars, FAILING_BACKUP, recovered } from './degraded.ts';
import type { RefusalRow } from './refusal-harness.ts';

const reply = (responseCode: number): Error => Object.assign(new Error('text of the server'), { responseCode });

type Stage = 'login' | 'sender' | 'recipient' | 'data';

interface SmtpRow {
  name: string;
  stage: Stage;
  status: number;
  /** Only this recipient; all of them when absent. */
  only?: string;
  words: RegExp;
  remedy: RegExp;
}

const ROWS: readonly SmtpRow[] = [
  {
    name: '550 to MAIL FROM',
    stage: 'sender',
    status: 550,
    words: /refused the sender a@example\.com/,
    remedy: /correct `from`/,
  },
  {
    name: '553 to MAIL FROM',
    stage: 'sender',
    status: 553,
    words: /refused the sender a@example\.com/,
    remedy: /correct `from`/,
  },
  {
    name: '550 for one of two',
    stage: 'recipient',
    status: 550,
    only: 'c@example.com',
    words: /refuses c@example\.com \(SMTP 550\)/,
    remedy: /correct `to`/,
  },
  {
    name: '550 for all',
    stage: 'recipient',
    status: 550,
    words: /refused all recipients: b@example\.com, c@example\.com/,
    remedy: /correct `to`/,
  },
  {
    name: '452 after DATA',
    stage: 'data',
    status: 452,
    words: /SMTP 452: the mail server refused more mail/,
    remedy: /raise the quota/,
  },
  {
    name: '552 after DATA',
    stage: 'data',
    status: 552,
    words: /SMTP 552: the mail server refused more mail/,
    remedy: /raise the quota/,
  },
  {
    name: '535 to AUTH',
    stage: 'login',
    status: 535,
    words: /SMTP 535: the mail server refused the login/,
    remedy: /correct `user` and `password`/,
  },
];

function rowOf({ name, stage, status, only, words, remedy }: SmtpRow): RefusalRow {
  return {
    dependency: 'SMTP',
    name,
    phases: ['start'],
    async open() {
      let refuses = false;
      const fault = (at: Stage, address = ''): Error | null =>
        refuses && at === stage && (only === undefined || only === address) ? reply(status) : null;
      const options: SMTPServerOptions = {
        onAuth: ({ username }, _session, callback) => callback(fault('login'), { user: username ?? '' }),
        onMailFrom: (_address, _session, callback) => callback(fault('sender')),
        onRcptTo: ({ address }, _session, callback) => callback(fault('recipient', address)),
      };
      const server = await startMailServer({ ...options, judge: () => fault('data') });
      const mail = {
        type: 'email',
        name: 'mail',
        host: '127.0.0.1',
        port: server.port,
        allow_private: true,
        timeout_seconds: 30,
      };
      const login = { user: 'alerts', password: 'p4ss-word' };
      const addresses = { from: 'a@example.com', to: ['b@example.com', 'c@example.com'] };
      return {
        settings: { ...FAILING_BACKUP, alerts: { channels: [{ ...mail, ...login, ...addresses }] } },
        async refuse() {
          refuses = true;
        },
        async grant() {
          refuses = false;
          await recovered(name, () => {
            const ids = server.taken.map(({ raw }) => readMail(raw).headers.get('message-id')?.[0]);
            expect(ids).toHaveLength(1);
          });
        },
        close: async () => undefined,
      };
    },
    readyReason: null,
    logWords: new RegExp(`${words.source}.*${remedy.source}`),
    doctorWords: words,
    remedyWords: remedy,
  };
}

test('a daemon refused by its mail server names the refusal and the remedy, and sends each mail once it is allowed', async () => {
  await expectBars(ROWS.map(rowOf), ({ log }) => {
    expect(log.join('\n')).not.toMatch(/p4ss-word|text of the server/);
    expect(log.join('\n')).not.toContain('notification given up');
  });
}, 400_000);
