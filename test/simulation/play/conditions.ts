import type { Seat } from '../world/seat.ts';
import type { World } from '../world/world.ts';

/** Since when something has been so, by the world's time. */
class Since {
  /** Infinite while it is not so. */
  ms = Number.POSITIVE_INFINITY;

  look(isSo: boolean, nowMs: number): void {
    if (!isSo) this.ms = Number.POSITIVE_INFINITY;
    else if (this.ms === Number.POSITIVE_INFINITY) this.ms = nowMs;
  }
}

/** Since when nothing has been in the way of what the program has to do: from then on it must be done in time. */
export class Conditions {
  readonly #world: World;
  readonly #seats: ReadonlyMap<Seat, Since>;
  readonly #services: ReadonlyMap<string, { fair: Since; well: Since }>;
  readonly #disks = new Since();
  readonly #clocks = new Since();
  readonly #queue = new Since();

  constructor(world: World, seats: readonly Seat[]) {
    this.#world = world;
    this.#seats = new Map(seats.map((seat) => [seat, new Since()]));
    this.#services = new Map(
      world.services.map(({ workspaceId }) => [workspaceId, { fair: new Since(), well: new Since() }]),
    );
  }

  look(nowMs: number): void {
    const { network, services, hosts, everyHost, broker } = this.#world;
    for (const one of services) {
      const { workspaceId } = one;
      const isHonest = one.clockSkewMs === 0 && one.unlisted.size === 0 && !one.hasForgottenAll(nowMs);
      const trouble = network.troubles.get(workspaceId)?.fault ?? null;
      const service = this.#services.get(workspaceId);
      service?.fair.look(isHonest && (trouble === null || trouble === 'slow'), nowMs);
      service?.well.look(isHonest && trouble === null, nowMs);
    }
    this.#disks.look(
      hosts.every(({ disk }) => disk === null),
      nowMs,
    );
    this.#clocks.look(
      everyHost.every(({ clockOffsetMs }) => clockOffsetMs === 0),
      nowMs,
    );
    this.#queue.look(!broker.away, nowMs);
    for (const [seat, since] of this.#seats) {
      const { running, host } = seat;
      const isUp = running?.process.alive === true && !running.process.frozen;
      since.look(isUp && host.clockOffsetMs === 0 && host.disk === null, nowMs);
    }
  }

  /** Every clock of the world is right. */
  get clocksRightSinceMs(): number {
    return this.#clocks.ms;
  }

  /** Every disk works. */
  get disksWellSinceMs(): number {
    return this.#disks.ms;
  }

  /** A daemon is up, with a clock that is right and a disk that works. */
  fitSinceMs(seat: Seat): number {
    return this.#seats.get(seat)?.ms ?? Number.POSITIVE_INFINITY;
  }

  /** Some daemon is. */
  get someoneFitSinceMs(): number {
    return Math.min(...[...this.#seats.values()].map(({ ms }) => ms));
  }

  /** Some daemon that has the channel is. */
  servedSinceMs(channel: string): number {
    const since = [...this.#seats].map(([{ running }, { ms }]) =>
      running?.configured.routes.some(({ name }) => name === channel) === true
        ? Math.max(ms, running.sinceMs)
        : Infinity,
    );
    return Math.min(...since);
  }

  /** A workspace's service tells the truth, if slowly, and no clock or disk is wrong: no run of it has a reason to fail. */
  faultlessSinceMs(workspaceId: string): number {
    return Math.max(this.#clocks.ms, this.#disks.ms, this.#services.get(workspaceId)?.fair.ms ?? 0);
  }

  /** And it tells it at once, and the queue and every daemon are there, so that nothing keeps it from being read. */
  readableSinceMs(workspaceId: string): number {
    const daemons = [...this.#seats.values()].map(({ ms }) => ms);
    const wellMs = this.#services.get(workspaceId)?.well.ms ?? 0;
    return Math.max(this.faultlessSinceMs(workspaceId), wellMs, this.#queue.ms, ...daemons);
  }
}
