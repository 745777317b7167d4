import { existsSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, onTestFinished } from 'vitest';
import { findUnroutedRules } from '../../src/alerts/pipeline/unrouted-rules.ts';
import type { ChannelConfig } from '../../src/config/channel-types.ts';
import type { Config, WorkspaceConfig } from '../../src/config/types.ts';
import { createLogger } from '../../src/core/logger.ts';
import type { Sandbox } from '../../src/sandbox/server.ts';
import { startSandbox } from '../../src/sandbox/server.ts';
import type { ScenarioInput } from '../../src/sandbox/world/scenario.ts';
import type { SandboxWorkspace } from '../../src/sandbox/world/store.ts';
import type { SyncOutcome } from '../../src/sync/run.ts';
import { Context, type ContextOverrides, type ContextSyncRequest } from '../../src/wiring/context.ts';
import { openInProcessWriter } from './in-process-writer.ts';
import { type LedgerView, viewLedger } from './ledger-view.ts';
import { deliverWaiting, messages } from './messages.ts';
import { payloadFaults } from './payload-schema.ts';
import { plainConfig, workspaceConfig } from './run/workspace-config.ts';
import { temporaryFolder } from './temporary-folder.ts';
import { type TestClock, testClock } from './time/test-clock.ts';

export const WORKSPACE = 'ws-1';

type WorkspaceInput = ScenarioInput['workspaces'][number];
export type Applied = Extract<SyncOutcome, { status: 'applied' }>;

export interface FixtureOptions {
  /** The workspaces that the sandbox serves; one empty one when absent. */
  workspaces?: Partial<WorkspaceInput>[];
  /** Changes to every workspace of the configuration. */
  settings?: Partial<WorkspaceConfig>;
  channels?: ChannelConfig[];
  /** The service's clock; the context's own when absent. */
  serviceClock?: TestClock;
  /** Whether the writer works in its thread, as it is shipped; otherwise in this process, which takes a third of the time. */
  thread?: boolean;
}

/** A sandbox, a configuration that reads from it into a ledger of its own, and a context over both. */
export interface Fixture {
  sandbox: Sandbox;
  /** The first workspace upstream. */
  upstream: SandboxWorkspace;
  clock: TestClock;
  config: Config;
  context: Context;
  /** One run by hand of the first workspace, or of the one named; what it has to tell is made, and without channels delivered to the log. */
  sync(order?: Partial<ContextSyncRequest>): Promise<Applied>;
  /** Opens the ledger as a finance tool would. The ledger must exist. */
  view(): LedgerView;
  /** Another context over the same ledger, as another process would have; `change` alters its configuration. */
  another(change?: (config: Config) => Config, overrides?: ContextOverrides): Context;
}

/**
 * Starts it all; everything is closed when the test has finished. Whatever the test was about, every message that it has
 * left behind must fit the published schema.
 */
export async function startFixture(options: FixtureOptions = {}): Promise<Fixture> {
  const clock = testClock();
  const served = (options.workspaces ?? [{}]).map((workspace, index) => ({
    id: `ws-${index + 1}`,
    api_key_id: `ak_test_${index + 1}`,
    secret_key: `sk_test_not_a_secret_${index + 1}`,
    ...workspace,
  }));
  const sandbox = await startSandbox({ scenario: { workspaces: served }, clock: options.serviceClock ?? clock });
  onTestFinished(() => sandbox.close());
  const path = join(temporaryFolder(), 'ledger.db');
  const config: Config = {
    ...plainConfig(path),
    workspaces: served.map(({ id, api_key_id, secret_key }) =>
      workspaceConfig(sandbox.url, {
        id,
        keys: [{ apiKeyId: api_key_id, secretKey: secret_key }],
        ...options.settings,
      }),
    ),
    alerts: { channels: options.channels ?? [] },
  };
  onTestFinished(() => checkPayloads(config.ledger.path));
  const open = (own: Config, overrides: ContextOverrides = {}): Context => {
    const context = new Context(own, {
      clock,
      logger: createLogger({ level: 'silent' }),
      clientOptions: { retries: 2, retryBaseMs: 1, requestTimeoutMs: 5_000 },
      ...(options.thread === true ? {} : { openWriter: openInProcessWriter }),
      ...overrides,
    });
    onTestFinished(() => context.close());
    return context;
  };
  const context = open(config);
  return {
    sandbox,
    upstream: sandbox.workspace(),
    clock,
    config,
    context,
    async sync(order) {
      try {
        return applied(await context.sync(manualOrder(order)));
      } finally {
        if (config.alerts.channels.length === 0) await deliverWaiting(context);
        else if (existsSync(config.ledger.path)) await context.compose();
      }
    },
    view: () => viewLedger(config.ledger.path),
    another: (change, overrides) => open(change === undefined ? config : change(config), overrides),
  };
}

/** A run by hand of the first workspace, with some of it changed. */
export function manualOrder(order: Partial<ContextSyncRequest> = {}): ContextSyncRequest {
  return { workspaceId: WORKSPACE, kind: 'manual', slot: null, signal: new AbortController().signal, ...order };
}

export function applied(outcome: SyncOutcome): Applied {
  if (outcome.status !== 'applied') throw new Error(`the run ended as ${outcome.status}`);
  return outcome;
}

/** Without any channel nobody hears of anything: that is all that there can be. */
const POSSIBLE = findUnroutedRules([], 'ws-1').flatMap(({ severity, rules }) =>
  rules.map((rule) => `${severity} ${rule}`),
);

function checkPayloads(ledgerPath: string): void {
  if (!existsSync(ledgerPath)) return;
  const connection = new Database(ledgerPath, { readonly: true });
  try {
    if (connection.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'finance_alerts'").get() === undefined) return;
    for (const { text, payload } of messages(connection)) {
      expect(payloadFaults(text), text).toEqual([]);
      const { type, rule, severity } = payload;
      if (type === 'alert.firing') expect(POSSIBLE, 'what routes know of').toContain(`${severity} ${rule}`);
    }
  } finally {
    connection.close();
  }
}
