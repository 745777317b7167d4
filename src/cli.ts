#!/usr/bin/env node
import { useCompileCache } from './core/process/compile-cache.ts';
import { nodeVersionFault } from './core/process/node-version.ts';

const nodeFault = nodeVersionFault(process.versions.node);
if (nodeFault === null) {
  useCompileCache(process.env);
  // Imported only here: a Node that is too old cannot parse the rest, or crashes in SQLite's native module.
  void import('./commands/command-list.ts').then(async ({ startThreadFor }) => {
    const argv = process.argv.slice(2);
    const thread = await startThreadFor(argv);
    const { main } = await import('./commands/main.ts');
    process.exitCode = await main(argv, {
      stdout: process.stdout,
      stderr: process.stderr,
      env: process.env,
      cwd: process.cwd(),
      thread,
    });
    // pm2's module listens on this channel and would keep a finished process alive. The channel stays connected, because
    // that module ends a process with exit code 1 when it is cut.
    process.channel?.unref();
  });
} else {
  process.stderr.write(`error: ${nodeFault}\n`);
  process.exitCode = 2;
}
