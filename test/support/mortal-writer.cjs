// Loaded before a program of ours: SIGUSR2 kills its writer's thread, as a fault of native code or memory would.
const threads = require('node:worker_threads');
const { syncBuiltinESMExports } = require('node:module');

if (threads.isMainThread) {
  threads.Worker = class extends threads.Worker {
    constructor(...args) {
      super(...args);
      process.once('SIGUSR2', () => this.terminate());
    }
  };
  syncBuiltinESMExports();
}
