// What the daemon's libraries take by themselves: loaded as they are installed, connected to a Redis and a SQLite file, idle.
// Says its own memory after `settleMs`.
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { Queue, Worker } from 'bullmq';
import { drizzle } from 'drizzle-orm/better-sqlite3';
import { Redis } from 'ioredis';
import cron from 'node-cron';
import pino from 'pino';
import { Pool } from 'undici';
import { parse } from 'yaml';
import { z } from 'zod';

const { folder, socket, settleMs } = JSON.parse(process.argv[2]);
const [producer, consumer] = [{}, { maxRetriesPerRequest: null }].map((options) => new Redis(socket, options));
await Promise.all([producer, consumer].map((connection) => once(connection, 'ready')));
const kept = [
  new Queue('bench', { connection: producer }),
  new Worker('bench', async () => undefined, { connection: consumer }),
  drizzle(new Database(join(folder, 'libraries.db'))),
  cron.schedule('0 0 1 1 *', () => undefined),
  new Pool('http://127.0.0.1:9'),
  pino({ level: 'warn' }),
  z.object({ id: z.string() }).parse(parse('id: ws-bench')),
];
await wait(settleMs);
process.send({ parts: kept.length, rssMb: process.memoryUsage().rss / 1e6 }, () => process.exit());
