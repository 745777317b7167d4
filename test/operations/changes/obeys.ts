import { userInfo } from 'node:os';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../../src/config/load.ts';
import { createLogger } from '../../../src/core/logger.ts';
import { ROLES } from '../../../src/core/text/roles.ts';
import { describeApi } from '../../../src/daemon/api/openapi.ts';
import type { ChangeOperation, ChangeResult, Operation, Scope } from '../../../src/operations/operation.ts';
import { OPERATIONS } from '../../../src/operations/operations.ts';
import { renderJson } from '../../../src/reports/formats/json.ts';
import { Context } from '../../../src/wiring/context.ts';
import { copiesOf, parseJson, type World } from '../../commands/world.ts';
import { answerChecker } from '../../daemon/api/described-answer.ts';
import { queueOfRuns, requestOf, serveApi } from '../../daemon/api/served-api.ts';
import { openInProcessWriter } from '../../support/in-process-writer.ts';
import { clockThat } from '../../support/time/test-clock.ts';
import { ledgerOfOperations } from '../ledger-of-operations.ts';
import { type ChangeCase, contentOf } from './change-case.ts';

type AnyChange = ChangeOperation<Operation['input'], object>;

const faultsOf = answerChecker(describeApi(OPERATIONS, '1.2.3'));

export const CHANGES: readonly AnyChange[] = OPERATIONS.filter((operation) => operation.kind === 'change');

/** Plays each change by command, by operation and over HTTP, each in a copy of one ledger. Call it once in a file. */
export function describeChanges(cases: Readonly<Record<string, ChangeCase>>): void {
  const copyOfLedger = copiesOf(ledgerOfOperations);

  describe.each(Object.entries(cases))('%s', (name, one) => {
    const operation = changeNamed(name);
    const ledger = async (): Promise<World> => {
      const world = await copyOfLedger();
      await one.given?.(world);
      return world;
    };

    it('gives the same document by command, operation and HTTP', async () => {
      const world = await ledger();
      const { document, applied } = await runChange(world, operation, one.input(world));
      expect(operation.output.safeParse(document).error?.issues ?? []).toEqual([]);
      expect(applied).toBe(true);
      const wanted = comparable(renderJson(document));
      const { answer } = await post(await ledger(), operation, one);
      const status = operation.http.status ?? 200;
      expect([answer.status, answer.status === status ? '' : answer.text]).toEqual([status, '']);
      expect(faultsOf(operation, answer.text)).toEqual([]);
      const { applied: hasApplied, notes: _notes, snapshot, ...sent } = answer.json;
      expect({ hasApplied, snapshot }).toMatchObject({ hasApplied: true, snapshot: { complete: expect.any(Boolean) } });
      const { applied: _applied, ...others } = wanted;
      expect(comparable(renderJson(sent))).toEqual(others);
      if (one.argv === null) return;
      const own = await ledger();
      const by = one.withoutBy === true ? [] : ['--by', ACTOR];
      const { out, err, code } = await own.run(...one.argv(own), ...by, '--json');
      expect([code, code === 0 ? '' : err]).toEqual([0, '']);
      expect(comparable(out)).toEqual(wanted);
      if (one.actors !== null && by.length > 0) expect(actorsOf(own, one)).toContain(ACTOR);
    });

    if (one.argv !== null && one.actors !== null) {
      it('is recorded under the name of the system user without --by', async () => {
        const world = await ledger();
        await world.run(...(one.argv?.(world) ?? []));
        expect(actorsOf(world, one)).toContain(`${userInfo().username} (terminal)`);
      });
    }

    it('needs its role, writes under the name of the token, and has the same outcome when it is asked again', async () => {
      const world = await ledger();
      const before = contentOf(world);
      const below = ROLES[ROLES.indexOf(operation.role) - 1] ?? null;
      const { answer: refusal } = await post(world, operation, one, below);
      expect(refusal).toMatchObject({ status: 403, json: { code: 'forbidden' } });
      expect(contentOf(world)).toEqual(before);
      const { answer, ask, lines } = await post(world, operation, one);
      expect(answer.status, answer.text).toBe(operation.http.status ?? 200);
      const actor = `${operation.role}-bot (API token)`;
      const made = { msg: 'change made', operation: name, actor };
      expect(lines.filter(({ msg }) => msg === 'change made')).toEqual([expect.objectContaining(made)]);
      if (one.actors !== null) {
        expect(actorsOf(world, one)).toContain(actor);
      }
      const after = contentOf(world);
      const again = await ask();
      const { snapshot: _snapshot, notes: _notes, ...first } = answer.json;
      const { snapshot: _again, notes: _notesAgain, ...second } = again.json;
      if (one.changesWhenRepeated !== true) {
        expect(second).toEqual(first);
        expect(contentOf(world)).toEqual(after);
      }
    });

    if (!('dry_run' in operation.input.shape)) return;
    it('writes nothing in a dry run, and says so', async () => {
      const world = await ledger();
      const before = contentOf(world);
      const { document, applied } = await runChange(world, operation, { ...one.input(world), dry_run: true });
      expect(operation.output.safeParse(document).error?.issues ?? []).toEqual([]);
      expect(applied).toBe(false);
      expect(contentOf(world)).toEqual(before);
    });
  });
}

const ACTOR = 'Ada';

/** Returns the recorded actors as lines; some contain more than the actor. */
function actorsOf(world: World, { actors }: ChangeCase): string {
  const rows = world.query(actors ?? 'SELECT NULL');
  return rows.map((row) => Object.values(row as object)[0]).join('\n');
}

function changeNamed(name: string): AnyChange {
  const found = CHANGES.find((operation) => operation.name === name);
  if (found === undefined) throw new Error(`${name} is not a change of the table`);
  return found;
}

async function post(world: World, operation: AnyChange, one: ChangeCase, role = operation.role as string | null) {
  const { ask, lines } = await serveApi(world);
  const [path, question] = requestOf(operation, one.input(world));
  const again = () => ask(path, { ...question, role: role as 'operate' });
  return { answer: await again(), ask: again, lines };
}

async function runChange(
  world: World,
  operation: AnyChange,
  input: Record<string, unknown>,
): Promise<ChangeResult<object>> {
  const config = await loadConfig({ file: undefined, env: {}, cwd: world.folder });
  const clock = clockThat(() => world.clock.nowMs);
  const logger = createLogger({ level: 'silent' });
  const context = new Context(config, { clock, logger, openWriter: openInProcessWriter });
  try {
    const scope: Scope = {
      context,
      connection: context.reader().connection,
      actor: { name: ACTOR, kind: 'stated' },
      signal: new AbortController().signal,
      enqueueSync: queueOfRuns(),
    };
    return await operation.run(scope, operation.input.parse(input));
  } finally {
    await context.close();
  }
}

/** Parses a document, with a fixed text for everything that is random or names the actor. */
function comparable(text: string): ReturnType<typeof parseJson> {
  const fixed = text
    .replaceAll(/\b(silence|plan|msg|msg_test|alert)_[0-9a-f]{12,}\b/g, '$1_ID')
    .replaceAll(/\b[0-9a-f]{64}\b/g, 'DIGEST')
    .replaceAll(/\w+-bot \(API token\)/g, ACTOR)
    .replaceAll(/"latency_ms": \d+/g, '"latency_ms": 0');
  return parseJson(fixed);
}
