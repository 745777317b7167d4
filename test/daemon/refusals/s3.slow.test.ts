import { expect, test } from 'vitest';
import { type Fault, type S3Server, SECRET_KEY, type SeenRequest, startS3Server } from '../../support/net/s3-server.ts';
import { expectBars, recovered } from './degraded.ts';
import type { RefusalRow } from './refusal-harness.ts';

const DENIED: Fault = { status: 403, code: 'AccessDenied' };
const OLD = ['ledger-1/ledger-20200101T000000Z.db', 'ledger-1/ledger-20200102T000000Z.db'];

interface S3Row {
  name: string;
  fault(request: SeenRequest): Fault | null;
  words: RegExp;
  remedy: RegExp;
  isUsed(server: S3Server): void;
}

const newBackups = ({ objects }: S3Server): string[] =>
  [...objects.keys()].filter((key) => /\/ledger-\w+\.db$/.test(key) && !OLD.includes(key));
const hasBackup = (server: S3Server): void => expect(newBackups(server)).toHaveLength(1);

const ROWS: readonly S3Row[] = [
  {
    name: '403 on put',
    fault: ({ method }) => (method === 'PUT' ? DENIED : null),
    words: /it refused s3:PutObject/,
    remedy: /grant s3:PutObject on s3:\/\/our-bucket\/ledger-1\/\* to `s3\.access_key_id`/,
    isUsed: hasBackup,
  },
  {
    name: '403 on list',
    fault: ({ method, key, query }) => (method === 'GET' && key === '' && query.has('list-type') ? DENIED : null),
    words: /it refused s3:ListBucket/,
    remedy: /grant s3:ListBucket on s3:\/\/our-bucket to/,
    isUsed: hasBackup,
  },
  {
    name: '403 on delete',
    fault: ({ method }) => (method === 'DELETE' ? DENIED : null),
    words: /it refused s3:DeleteObject/,
    remedy: /grant s3:DeleteObject on s3:\/\/our-bucket\/ledger-1\/\* to/,
    isUsed(server) {
      hasBackup(server);
      expect(OLD.filter((key) => server.objects.has(key))).toEqual([]);
    },
  },
  {
    name: 'SignatureDoesNotMatch',
    fault: () => ({ status: 403, code: 'SignatureDoesNotMatch' }),
    words: /the secret does not belong to the key/,
    remedy: /check `s3\.secret_access_key`/,
    isUsed: hasBackup,
  },
];

function rowOf({ name, fault, words, remedy, isUsed }: S3Row): RefusalRow {
  return {
    dependency: 'S3',
    name,
    phases: ['start'],
    async open() {
      const server = await startS3Server();
      for (const key of OLD)
        server.objects.set(key, { sizeBytes: 1, sha256: '', checksum: '', body: Buffer.from('x') });
      return {
        settings: { s3: server.settings, backup: { cron: '0 0 1 1 *', keep: 1, to: 's3://our-bucket/ledger-1' } },
        async refuse() {
          server.fault = fault;
        },
        async grant() {
          server.fault = () => null;
          await recovered(name, () => isUsed(server));
        },
        close: async () => undefined,
      };
    },
    readyReason: null,
    logWords: new RegExp(`${words.source}.*${remedy.source.replaceAll('`', '`')}`),
    doctorWords: words,
    remedyWords: remedy,
  };
}

test('a daemon refused by its bucket names the missing right, waits, and makes the backup once it is granted', async () => {
  await expectBars(ROWS.map(rowOf), ({ log }) => {
    expect(log.join('\n')).not.toContain(SECRET_KEY);
    expect(log.filter((line) => line.includes('"msg":"backup made"')).length).toBeLessThanOrEqual(1);
  });
}, 400_000);
