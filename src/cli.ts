#!/usr/bin/env node
import { nodeVersionFault } from './core/process/node-version.ts';

const fault = nodeVersionFault(process.versions.node);
if (fault === null) {
  // Only now: a Node that is too old cannot read the rest, or crashes in SQLite's native module.
  void import('./commands/main.ts').then(async ({ main }) => {
    process.exitCode = await main(process.argv.slice(2), {
      stdout: process.stdout,
      stderr: process.stderr,
      env: process.env,
      cwd: process.cwd(),
    });
    // pm2's own module listens on this channel, which would keep a process alive that has nothing left to do. It stays
    // connected: that module ends a process with exit code 1 once it is not.
    process.channel?.unref();
  });
} else {
  process.stderr.write(`error: ${fault}\n`);
  process.exitCode = 2;
}
