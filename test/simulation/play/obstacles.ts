import type { Host, SimulatedProcess } from '../world/process.ts';
import type { Seat } from '../world/seat.ts';
import { monthBefore, monthOf } from '../world/service.ts';
import type { World } from '../world/world.ts';
import type { Happening, HappeningKind } from './happening.ts';
import type { People } from './people.ts';
import { splitMachine } from './split.ts';

export interface Stage {
  world: World;
  seats: readonly Seat[];
  people: People;
  /** Called, they keep what is under way from ending by itself. */
  ends: (() => void)[];
  /** Told of each thing that happens. */
  meet(kind: string): void;
  /** Of the ledger on the second machine. */
  second: Stage | null;
  /** Nobody splits twice at once. */
  isSplitting: boolean;
  /** From this time on nothing more happens, in milliseconds since the world's start. */
  quietFromMs: number;
  /** Sets the other machine up, whose daemon runs from `begin` on. */
  openSecond(workspaceId: string): Stage;
  begin(): void;
}

/**
 * Lets something happen; what `afterwards` is given puts it right again once its time is over. `who` has come to the step
 * that it was to happen at; null when it happens at a time.
 */
type Obstacle<Kind extends HappeningKind> = (
  stage: Stage,
  happening: Extract<Happening, { kind: Kind }>,
  afterwards: (restore: () => void) => void,
  who: SimulatedProcess | null,
) => void;

/** One line a kind: what it does to the world. */
const OBSTACLES: { [Kind in HappeningKind]: Obstacle<Kind> } = {
  service({ world }, { workspace, fault, probability }, afterwards) {
    const { workspaceId } = at(world.services, workspace);
    world.network.troubles.set(workspaceId, { fault, probability });
    afterwards(() => world.network.troubles.delete(workspaceId));
  },
  service_clock({ world }, { workspace, skewMs }, afterwards) {
    const service = at(world.services, workspace);
    service.clockSkewMs = skewMs;
    afterwards(() => {
      service.clockSkewMs = 0;
    });
  },
  restate: ({ world }, { workspace, tenant, monthsAgo, credits }) =>
    amend(world, { workspace, tenant, monthsAgo, credits: BigInt(credits) }),
  forget: ({ world }, { workspace, tenant, monthsAgo, forMs, returns }) =>
    amend(world, { workspace, tenant, monthsAgo, credits: null }, returns ? forMs : undefined),
  unlist({ world }, { workspace, tenant }, afterwards) {
    const { tenants, unlisted } = at(world.services, workspace);
    const { id } = at(tenants, tenant);
    unlisted.add(id);
    afterwards(() => unlisted.delete(id));
  },
  bulge({ world }, { workspace, tenant, times }) {
    const { tenants } = at(world.services, workspace);
    at(tenants, tenant).bulges.set(monthOf(world.clock.now()), times);
  },
  receiver({ world }, { receiver, fault, probability }, afterwards) {
    const one = at(world.receivers, receiver);
    one.trouble = { fault, probability };
    afterwards(() => {
      one.trouble = null;
    });
  },
  billing({ world: { billing } }, { fault, probability }, afterwards) {
    billing.trouble = { fault, probability };
    afterwards(() => {
      billing.trouble = null;
    });
  },
  clock({ world }, { stepMs }, afterwards) {
    const machine = at(world.hosts, 0);
    machine.clockOffsetMs = stepMs;
    afterwards(() => {
      machine.clockOffsetMs = 0;
    });
  },
  disk({ world }, { fault, probability }, afterwards) {
    const machine = at(world.hosts, 0);
    machine.disk = { fault, probability };
    afterwards(() => {
      machine.disk = null;
    });
  },
  kill({ seats }, { afterSteps, reboot }, _afterwards, who) {
    const one = who ?? at(seats, 0).process;
    if (one === null) return;
    one.dieAfter(afterSteps);
    one.reboots = reboot;
  },
  stop({ seats, world }, { downMs }) {
    const seat = at(seats, 0);
    seat.stop();
    world.clock.after(downMs + 60_000, () => seat.start());
  },
  freeze({ seats, world }, _happening, afterwards, who) {
    const one = who ?? at(seats, 0).process;
    if (one === null) return;
    one.freeze();
    world.broker.stallJobsOf(one);
    afterwards(() => {
      one.thaw();
      world.broker.handOut();
    });
  },
  queue_lost: ({ world }) => world.broker.loseEverything(),
  queue_away({ world }, _happening, afterwards) {
    world.broker.setAway(true);
    afterwards(() => world.broker.setAway(false));
  },
  lock_lost: ({ world }) => world.broker.loseLocks(),
  configure(stage, { settings }) {
    for (const { world, seats } of stage.second === null ? [stage] : [stage, stage.second]) {
      for (const seat of seats) {
        world.configure(settings, seat.host);
        if (seat.process === null) continue;
        seat.stop();
        seat.start();
      }
    }
  },
  split(stage, { workspace, ...how }) {
    if (stage.isSplitting || stage.second !== null) return;
    stage.isSplitting = true;
    const { workspaceId } = at(stage.world.services, workspace);
    void splitMachine(stage, { ...how, workspaceId }).then(() => {
      stage.isSplitting = false;
    });
  },
  command({ people, second, meet, world, isSplitting }, happening) {
    if (isSplitting) return;
    meet(`command ${happening.command}`);
    const { workspaceId } = at(world.services, happening.workspace);
    const isOfOutlet = happening.command === 'begin' || happening.command === 'push';
    const isThere = !isOfOutlet && second?.world.workspaceIds.includes(workspaceId) === true;
    (isThere ? second.people : people).type(happening);
  },
};

/** What is about a machine or its daemon. */
const OF_MACHINE: readonly HappeningKind[] = ['clock', 'disk', 'kill', 'stop', 'freeze'];

/** What happens inside a process, whatever that is about just then; the others begin something of their own. */
const WITHIN: readonly HappeningKind[] = ['kill', 'freeze', 'clock', 'disk'];

/** Lets it happen now or at its step, and end when its time is over. */
export function happen(first: Stage, happening: Happening): void {
  const stage = stageOf(first, happening);
  const { world } = stage;
  const { kind, during } = happening;
  const begin = (who: SimulatedProcess | null): void => {
    const obstacle = OBSTACLES[kind] as Obstacle<HappeningKind>;
    world.note(`happens ${JSON.stringify(happening)}`);
    stage.meet(`happening ${kind}`);
    const forMs = 'forMs' in happening ? happening.forMs : 0;
    obstacle(stage, happening as never, (restore) => stage.ends.push(world.clock.after(forMs, restore)), who);
  };
  if (during === null) {
    begin(null);
    return;
  }
  world.steps.await({ ...during, host: hostOf(stage, happening) }, (who) => {
    stage.meet(`in the middle of a ${during.step}`);
    if (WITHIN.includes(kind)) begin(who);
    else stage.ends.push(world.clock.after(0, () => begin(who)));
  });
}

/** Some of what happens to machines happens to that of the second ledger, once there is one. */
function stageOf(first: Stage, happening: Happening): Stage {
  return OF_MACHINE.includes(happening.kind) && first.second !== null && first.world.random.chance(0.4)
    ? first.second
    : first;
}

/** The host that it is about; null when it is about none. */
function hostOf({ world }: Stage, { kind }: Happening): Host | null {
  return OF_MACHINE.includes(kind) ? at(world.hosts, 0) : null;
}

/** Puts right whatever is wrong in the world. */
export function calm({ world, seats, ends }: Stage): void {
  world.steps.forget();
  for (const drop of ends) drop();
  world.network.troubles.clear();
  for (const service of world.services) {
    service.clockSkewMs = 0;
    service.unlisted.clear();
  }
  for (const receiver of world.receivers) receiver.trouble = null;
  world.billing.trouble = null;
  for (const host of world.hosts) {
    host.clockOffsetMs = 0;
    host.disk = null;
  }
  world.broker.setAway(false);
  for (const seat of seats) {
    seat.start();
  }
  for (const process of world.processes.values()) {
    process.dieAfter(Number.POSITIVE_INFINITY);
    process.thaw();
  }
  world.broker.handOut();
}

function amend(
  world: World,
  {
    workspace,
    tenant,
    monthsAgo,
    credits,
  }: { workspace: number; tenant: number; monthsAgo: number; credits: bigint | null },
  forMs?: number,
): void {
  const service = at(world.services, workspace);
  let period = monthOf(world.clock.now());
  for (let ago = 0; ago < monthsAgo; ago += 1) period = monthBefore(period);
  const atMs = world.clock.now();
  const until = forMs === undefined ? {} : { untilMs: atMs + forMs };
  service.amend({ atMs, ...until, tenantId: at(service.tenants, tenant).id, period, credits });
}

function at<T>(items: readonly T[], index: number): T {
  const item = items[index % items.length];
  if (item === undefined) throw new Error('there is nobody to whom this could happen');
  return item;
}
