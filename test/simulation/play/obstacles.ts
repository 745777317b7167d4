import type { Seat } from '../world/seat.ts';
import { monthBefore, monthOf } from '../world/service.ts';
import type { World } from '../world/world.ts';
import type { People } from './people.ts';
import type { Happening, HappeningKind } from './plan.ts';

export interface Stage {
  world: World;
  seats: readonly Seat[];
  people: People;
  /** Called, they keep what is under way from ending by itself. */
  ends: (() => void)[];
}

/** Lets something happen; what `afterwards` is given puts it right again once its time is over. */
type Obstacle<Kind extends HappeningKind> = (
  stage: Stage,
  happening: Extract<Happening, { kind: Kind }>,
  afterwards: (restore: () => void) => void,
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
  forget: ({ world }, { workspace, tenant, monthsAgo }) =>
    amend(world, { workspace, tenant, monthsAgo, credits: null }),
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
  clock({ world }, { host, stepMs }, afterwards) {
    const machine = at(world.hosts, host);
    machine.clockOffsetMs += stepMs;
    afterwards(() => {
      machine.clockOffsetMs -= stepMs;
    });
  },
  disk({ world }, { host, fault, probability }, afterwards) {
    const machine = at(world.hosts, host);
    machine.disk = { fault, probability };
    afterwards(() => {
      machine.disk = null;
    });
  },
  kill({ seats }, { process, afterSteps }) {
    at(seats, process).process?.dieAfter(afterSteps);
  },
  stop({ seats, world }, { process, downMs }) {
    const seat = at(seats, process);
    seat.stop();
    world.clock.after(downMs + 60_000, () => seat.start());
  },
  freeze({ seats, world }, { process, forMs }) {
    at(seats, process).process?.freezeAtRequest(forMs, () => world.broker.lockRunsOut());
  },
  queue_lost: ({ world }) => world.broker.loseEverything(),
  queue_away({ world }, _happening, afterwards) {
    world.broker.setAway(true);
    afterwards(() => world.broker.setAway(false));
  },
  lock_lost: ({ world }) => world.broker.lockRunsOut(),
  command: ({ people }, happening) => people.type(happening),
};

/** Lets it happen, and end when its time is over. */
export function happen(stage: Stage, happening: Happening): void {
  const obstacle = OBSTACLES[happening.kind] as Obstacle<HappeningKind>;
  stage.world.note(`happens ${JSON.stringify(happening)}`);
  const forMs = 'forMs' in happening ? happening.forMs : 0;
  obstacle(stage, happening as never, (restore) => stage.ends.push(stage.world.clock.after(forMs, restore)));
}

/** Puts right whatever is wrong in the world. */
export function calm({ world, seats, ends }: Stage): void {
  for (const drop of ends) drop();
  world.network.troubles.clear();
  for (const service of world.services) service.clockSkewMs = 0;
  for (const receiver of world.receivers) receiver.trouble = null;
  for (const host of world.hosts) {
    host.clockOffsetMs = 0;
    host.disk = null;
  }
  world.broker.setAway(false);
  for (const seat of seats) {
    seat.process?.dieAfter(Number.POSITIVE_INFINITY);
    seat.start();
  }
}

function amend(
  world: World,
  {
    workspace,
    tenant,
    monthsAgo,
    credits,
  }: { workspace: number; tenant: number; monthsAgo: number; credits: bigint | null },
): void {
  const service = at(world.services, workspace);
  let period = monthOf(world.clock.now());
  for (let ago = 0; ago < monthsAgo; ago += 1) period = monthBefore(period);
  service.amend({ atMs: world.clock.now(), tenantId: at(service.tenants, tenant).id, period, credits });
}

function at<T>(items: readonly T[], index: number): T {
  const item = items[index % items.length];
  if (item === undefined) throw new Error('there is nobody to whom this could happen');
  return item;
}
