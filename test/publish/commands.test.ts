import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { createWorld, FIRST, parseJson, type World, workspaceSettings } from '../commands/world.ts';
import { type PostgresServer, type Reader, startPostgres } from '../support/postgres.ts';

// cspell:ignore cret

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.remove());

let schemas = 0;

/** A world whose ledger has a copy of its own, with one run that is published. */
async function publishedWorld(): Promise<{ world: World; reader: Reader; schema: string }> {
  schemas += 1;
  const schema = `world_${schemas}`;
  const world = await createWorld(FIRST);
  configurePublish(world, { url: server.target(schema).url, schema });
  await world.run('sync');
  const { code, err } = await world.run('publish');
  expect(code, err).toBe(0);
  const reader = await server.connect(schema);
  onTestFinished(() => reader.close());
  return { world, reader, schema };
}

function configurePublish(world: World, publish: Record<string, string>): void {
  world.configure({ workspaces: [workspaceSettings(world.sandbox, FIRST)], publish });
}

async function doctor(world: World): Promise<unknown> {
  const { checks } = parseJson((await world.run('doctor', '--json')).out);
  return checks.find(({ check }: { check: string }) => check === 'publish');
}

test('publish says what it has sent, and that there is nothing new', async () => {
  const { world } = await publishedWorld();
  world.clock.nowMs += 60_000;
  await world.run('sync');
  expect((await world.run('publish')).out).toMatch(
    /^sent \d+ rows in \d+\.\d s: Postgres holds link 2 of the chain\nhead digest \w{64}\n$/,
  );
  expect((await world.run('publish')).out).toMatch(/^nothing to send: Postgres holds link 2 of the chain\n/);
  const { out } = await world.run('publish', '--json');
  expect(parseJson(out)).toMatchObject({ from: 2, to: 2, rows: 0, parted: null, differences: [] });
});

test('a check names what differs by workspace, period and table, with exit 4, and a repair sends it again', async () => {
  const { world, reader } = await publishedWorld();
  expect(await world.run('publish', '--check')).toMatchObject({
    code: 0,
    out: expect.stringContaining('the copy matches the ledger'),
  });
  const [row] = await reader.query<{ period: string; workspace_id: string }>(
    'SELECT workspace_id, period FROM finance_usage ORDER BY period, tenant_id LIMIT 1',
  );
  await reader.query(
    `UPDATE tenant_usage SET credits_used = credits_used + 7 WHERE (period_key, tenant_key) =
       (SELECT u.period_key, u.tenant_key FROM tenant_usage u JOIN periods USING (period_key) WHERE period = $1 LIMIT 1)`,
    [row?.period],
  );
  await reader.query(
    "UPDATE tenants SET tenant_id = tenant_id || '-renamed' WHERE tenant_key = (SELECT min(tenant_key) FROM tenants)",
  );
  const checked = await world.run('publish', '--check');
  expect(checked.code).toBe(4);
  expect(checked.out).toMatch(
    new RegExp(
      `^differs: ${row?.workspace_id} ${row?.period} tenant_usage: credits \\d+ in the ledger, \\d+ in the copy$`,
      'm',
    ),
  );
  expect(checked.out).toMatch(
    new RegExp(`^differs: ${row?.workspace_id} tenants: same sums, different contents$`, 'm'),
  );
  const { differences } = parseJson((await world.run('publish', '--check', '--json')).out);
  expect(differences).toContainEqual({
    table: 'tenants',
    workspace_id: row?.workspace_id,
    period: null,
    here: expect.anything(),
    there: expect.anything(),
  });
  expect(await world.run('publish', '--repair')).toMatchObject({
    code: 4,
    out: expect.stringContaining('differing rows were sent again'),
  });
  expect((await world.run('publish', '--check')).code).toBe(0);
});

test('without publish in the configuration the command says so', async () => {
  const world = await createWorld(FIRST);
  await world.run('sync');
  const { code, err } = await world.run('publish');
  expect(code).toBe(2);
  expect(err).toContain('the configuration has no `publish:`');
});

test('status and doctor say how far the copy is behind', async () => {
  const { world } = await publishedWorld();
  expect((await world.run('status')).out).toContain('publish at link 1, up to date\n');
  expect(await doctor(world)).toMatchObject({ status: 'ok', message: 'at link 1, up to date' });
  await world.run('sync');
  world.clock.nowMs += 3_600_000;
  const { publish } = parseJson((await world.run('status', '--json')).out);
  expect(publish).toEqual({ position: 1, lag_links: 1, lag_seconds: 3600, fault: null });
  expect(await doctor(world)).toMatchObject({
    status: 'warn',
    message: 'at link 1, 1 link pending for up to 3600 s',
  });
});

test('a server that is away is said with its remedy and without the password', async () => {
  const world = await createWorld(FIRST);
  await world.run('sync');
  configurePublish(world, { url: 'postgres://ledger:s3cret-word@127.0.0.1:1/finance' });
  const away = await world.run('publish');
  expect(away.code).toBe(1);
  expect(away.err).toMatch(/^error: Postgres is not available: .*ECONNREFUSED.*\n {2}check publish\.url/);
  expect(away.err).not.toContain('s3cret-word');
  expect((await world.run('status')).out).toContain('publish Postgres is not available: ');
  expect(await doctor(world)).toMatchObject({ status: 'fail', message: expect.stringContaining('ECONNREFUSED') });
});

test('doctor names a user that only reads, and a server that takes no writes', async () => {
  const { world, reader, schema } = await publishedWorld();
  const publishAs = (role: string): void => {
    const { url } = server.target(schema);
    configurePublish(world, { url: url.replace('user=usage_ledger', `user=${role}`), schema });
  };
  await reader.query(`CREATE ROLE only_reads LOGIN; CREATE ROLE standby LOGIN SUPERUSER;
    ALTER ROLE standby SET default_transaction_read_only TO on;
    GRANT USAGE ON SCHEMA ${schema} TO only_reads; GRANT SELECT ON ALL TABLES IN SCHEMA ${schema} TO only_reads`);
  for (const [role, words] of [
    ['only_reads', 'permission denied'],
    ['standby', 'read-only transaction'],
  ] as const) {
    publishAs(role);
    expect(await doctor(world), role).toMatchObject({ status: 'fail', message: expect.stringContaining(words) });
  }
});
