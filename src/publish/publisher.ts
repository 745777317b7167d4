import { thisProcess } from '../core/process/process-liveness.ts';
import { openReader } from '../ledger/store/file/open.ts';
import { ledgerId } from '../ledger/store/schema/identity.ts';
import { connectReplica, type ReplicaClient, type ReplicaSettings, type ReplicaWay } from './connect.ts';
import { migrateReplica } from './replica/migrate-replica.ts';
import { type PublishReport, publishLedger } from './send/publish-ledger.ts';
import { recentCheckpoints } from './send/recent-checkpoints.ts';

/** Publishes one ledger; keeps its connection from one time to the next. */
export class Publisher {
  readonly #settings: ReplicaSettings;
  readonly #ledgerPath: string;
  readonly #elsewhere: readonly string[];
  readonly #way: ReplicaWay;
  #client: ReplicaClient | null = null;
  /** What was mended of the replica and has not been reported yet. */
  #mended: readonly string[] = [];

  /** `elsewhere`: ids of workspaces that the configuration leaves to other machines. */
  constructor(settings: ReplicaSettings, ledgerPath: string, elsewhere: readonly string[] = [], way: ReplicaWay = {}) {
    this.#settings = settings;
    this.#ledgerPath = ledgerPath;
    this.#elsewhere = elsewhere;
    this.#way = way;
  }

  /** The replica, in the schema of this version. */
  async connect(): Promise<ReplicaClient> {
    if (this.#client !== null && this.#client.lost === null) return this.#client;
    await this.close();
    const client = await connectReplica(this.#settings, this.#way);
    try {
      this.#mended = await migrateReplica(client, this.#settings.schema);
    } catch (error) {
      await client.close();
      throw error;
    }
    this.#client = client;
    return client;
  }

  /** One publish, see `publishLedger`. After a failure the next one connects anew. */
  async publish({ nowMs, replace = false }: { nowMs: number; replace?: boolean }): Promise<PublishReport> {
    const client = await this.connect();
    const { connection, close } = openReader(this.#ledgerPath);
    try {
      const checkpoints = recentCheckpoints(this.#ledgerPath, ledgerId(connection));
      const { host, pid } = thisProcess();
      const by = `${host} ${pid}`;
      const elsewhere = this.#elsewhere;
      const report = await publishLedger({ connection, client, replace, checkpoints, elsewhere, by, nowMs });
      const mended = this.#mended;
      this.#mended = [];
      return { ...report, mended: [...mended, ...report.mended] };
    } catch (error) {
      await this.close();
      throw error;
    } finally {
      close();
    }
  }

  async close(): Promise<void> {
    const client = this.#client;
    this.#client = null;
    await client?.close();
  }
}
