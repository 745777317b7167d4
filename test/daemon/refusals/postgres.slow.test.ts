import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { connectTo, type PostgresServer, type Reader, startPostgres } from '../../support/postgres.ts';
import { expectBars, recovered, runCommand } from './degraded.ts';
import type { RefusalRow } from './refusal-harness.ts';

// cspell:ignore cret

interface PostgresRow {
  name: string;
  phases?: RefusalRow['phases'];
  /** SQL of a superuser; `$s` is the schema, `$r` the role. */
  refuse: string;
  grant: string;
  words: RegExp;
  remedy: RegExp;
  fault: string;
}

const ROWS: readonly PostgresRow[] = [
  {
    name: 'no CREATE on the database',
    phases: ['start'],
    refuse: 'REVOKE CREATE ON DATABASE $d FROM PUBLIC, $r',
    grant: 'CREATE SCHEMA $s AUTHORIZATION $r',
    words: /Postgres refused CREATE on database \w+ to role \w+: permission denied \(42501\)/,
    remedy: /run CREATE SCHEMA "\w+" AUTHORIZATION "\w+"/,
    fault: 'publish_denied',
  },
  {
    name: 'no INSERT',
    phases: ['running'],
    refuse: 'REVOKE INSERT ON ALL TABLES IN SCHEMA $s FROM $r',
    grant: 'GRANT INSERT ON ALL TABLES IN SCHEMA $s TO $r',
    words: /Postgres refused INSERT on 25 tables of schema \w+ to role \w+: permission denied \(42501\)/,
    remedy: /run GRANT INSERT ON ALL TABLES IN SCHEMA "\w+" TO "\w+"/,
    fault: 'publish_denied',
  },
  {
    name: 'no USAGE on the schema',
    phases: ['running'],
    refuse: 'ALTER SCHEMA $s OWNER TO usage_ledger; REVOKE ALL ON SCHEMA $s FROM $r',
    grant: 'GRANT USAGE, CREATE ON SCHEMA $s TO $r',
    words: /Postgres refused USAGE on schema \w+ to role \w+: permission denied \(3F000\)/,
    remedy: /run GRANT USAGE ON SCHEMA "\w+" TO "\w+"/,
    fault: 'publish_denied',
  },
  {
    name: 'read-only transactions',
    refuse: 'ALTER ROLE $r SET default_transaction_read_only TO on',
    grant: 'ALTER ROLE $r RESET default_transaction_read_only',
    words: /Postgres refused to write in a read-only transaction: .* \(25006\)/,
    remedy: /run ALTER ROLE "\w+" RESET default_transaction_read_only/,
    fault: 'publish_read_only',
  },
  {
    name: 'too many connections',
    refuse: 'ALTER ROLE $r CONNECTION LIMIT 0',
    grant: 'ALTER ROLE $r CONNECTION LIMIT -1',
    words: /Postgres refused another connection of role \w+: no slot is free \(53300\)/,
    remedy: /raise max_connections or ALTER ROLE "\w+" CONNECTION LIMIT/,
    fault: 'publish_unreachable',
  },
  {
    name: 'password changed',
    refuse: "ALTER ROLE $r PASSWORD 'another'",
    grant: "ALTER ROLE $r PASSWORD 's3cret-word'",
    words: /Postgres refused the password of role \w+ \(28P01\)/,
    remedy: /correct user and password in publish\.url, then run `(npx )?usage-ledger reload`/,
    fault: 'publish_denied',
  },
];

let server: PostgresServer;
const rules = mkdtempSync(join(tmpdir(), 'ul-hba-'));
beforeAll(async () => {
  chmodSync(rules, 0o755);
  const file = join(rules, 'pg_hba.conf');
  writeFileSync(file, 'local all +with_password scram-sha-256\nlocal all all trust\n', { mode: 0o644 });
  server = await startPostgres({ options: ['-c', `hba_file=${file}`] });
  const owner = await server.connect('public');
  await owner.query('CREATE ROLE with_password');
  await owner.close();
});
afterAll(async () => {
  await server.remove();
  rmSync(rules, { recursive: true });
});

let opened = 0;

function rowOf({ name, refuse, grant, words, remedy, phases }: PostgresRow): RefusalRow {
  return {
    dependency: 'Postgres',
    name,
    ...(phases === undefined ? {} : { phases }),
    async open(folder) {
      opened += 1;
      const [schema, role, database] = [`copy_${opened}`, `pub_${opened}`, `db_${opened}`];
      const sql = (text: string): string =>
        text.replaceAll('$s', schema).replaceAll('$r', role).replaceAll('$d', database);
      // Several rows are opened at once.
      const own = await server.connect('public');
      await own.query(sql("CREATE ROLE $r LOGIN PASSWORD 's3cret-word' IN ROLE with_password"));
      await own.query(sql('CREATE DATABASE $d'));
      await own.query(sql('GRANT CREATE ON DATABASE $d TO $r'));
      await own.close();
      const socket = encodeURIComponent(server.folder);
      const url = `postgres:///${database}?user=${role}&password=s3cret-word&host=${socket}`;
      const there = await connectAsOwner(database);
      const position = async (): Promise<bigint> => {
        const known = await there.query<{ known: boolean }>(
          sql("SELECT to_regclass('$s.ledgers') IS NOT NULL AS known"),
        );
        if (known[0]?.known !== true) return 0n;
        const rows = await there.query<{ position: bigint }>(sql('SELECT position FROM $s.ledgers'));
        return rows[0]?.position ?? 0n;
      };
      let before = 0n;
      let written: Promise<unknown> = Promise.resolve();
      const isRunning = (): boolean => existsSync(join(folder, 'data', 'ledger.db'));
      return {
        settings: { publish: { url, schema, tls: 'off' } },
        async refuse() {
          if (isRunning()) await expect.poll(position, { timeout: 60_000 }).toBeGreaterThan(0n);
          before = await position();
          await there.query(sql(refuse));
          // Something new to publish, written once the harness has begun to read the log.
          if (isRunning()) written = runCommand(folder, 'sync');
        },
        async grant() {
          await written;
          await there.query(sql(grant));
          await recovered(name, async () => expect(await position()).toBeGreaterThan(before));
          // Nothing is missing or there twice.
          expect(await runCommand(folder, 'publish', '--check')).not.toContain('differs');
        },
        async close() {
          await written.catch(() => undefined);
          await there.close();
        },
      };
    },
    readyReason: null,
    logWords: words,
    doctorWords: words,
    remedyWords: remedy,
  };
}

async function connectAsOwner(database: string): Promise<Reader> {
  return connectTo(server.target('public').url.replace('///postgres', `///${database}`), 'public');
}

test('a daemon refused by Postgres names the missing right and the remedy, and publishes everything once it is granted', async () => {
  await expectBars(ROWS.map(rowOf), ({ row, log, readiness }) => {
    const fault = ROWS.find(({ name }) => name === row.name)?.fault;
    expect(JSON.parse(readiness), row.name).toMatchObject({ status: 'ready', publish: { fault } });
    expect(log.join('\n')).not.toContain('s3cret-word');
  });
}, 400_000);
