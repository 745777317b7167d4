const { existsSync } = require('node:fs');

/** A checkout brings its own Node, which counts even when a pm2 of another Node is called. */
const ownNode = `${__dirname}/node_modules/node/bin/node`;

/** How pm2 runs the daemon: `npx pm2 start ecosystem.config.cjs`, in the folder of usage-ledger.yml. */
module.exports = {
  apps: [
    {
      name: 'usage-ledger',
      script: `${__dirname}/dist/cli.js`,
      args: 'daemon',
      interpreter: existsSync(ownNode) ? ownNode : 'node',
      // Megabytes. Node's own 16 let the buffers of a million records' pages pile up before anybody collects them.
      node_args: ['--max-semi-space-size=4'],
      exec_mode: 'fork',
      instances: 1,
      // The daemon says "ready" once it takes jobs.
      wait_ready: true,
      listen_timeout: 30000,
      // A stop gives running jobs 2 s and takes up to 19 s at the worst; pm2's default of 1.6 s would kill them.
      kill_timeout: 25000,
      // Only the daemon gets the signal: it stops its private redis-server itself, after its last write to it.
      treekill: false,
      exp_backoff_restart_delay: 200,
      // A wrong configuration, a taken port, a folder that others may write: to start again helps once a person has changed that.
      stop_exit_codes: [2],
      max_memory_restart: '1G',
      // The daemon writes into its folder with each run: under `watch` pm2 would restart it each time.
      watch: false,
      // For those who switch it on all the same: what the daemon and pm2 write below the folder.
      ignore_watch: [
        ...['data', 'backups', 'exports', 'statements', 'reports', 'logs', 'pm2', 'node_modules'],
        ...['**/.*', '**/*.log', '**/*.db', '**/*.db-*', '**/*.db.*'],
      ],
      // Logs are JSON lines with their own time.
      merge_logs: true,
      time: false,
      vizion: false,
    },
  ],
};
