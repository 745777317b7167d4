import { closeSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { isAbsolute, join, relative } from 'node:path';
import { AppError } from '../../core/errors.ts';
import { LASTING_EXIT_CODES } from '../../core/process/exit-codes.ts';
import { CONFIG_FILE_NAME } from '../load.ts';
import { sampleConfig, sampleEnv } from './sample-config.ts';

export interface Installation {
  folder: string;
  /** The folder of the package, which holds `dist` and its own `ecosystem.config.cjs`. */
  packageFolder: string;
  nodePath: string;
  user: { name: string; uid: number; gid: number };
}

/** For pm2: the settings of the package, so that an update brings its own, run in this folder. */
export function pm2File({ folder, packageFolder }: Installation): string {
  const source = JSON.stringify(fromFolder(folder, join(packageFolder, 'ecosystem.config.cjs')));
  return `// How pm2 runs the daemon: \`npx pm2 start ecosystem.config.cjs\`. Script, time-outs and the rest come with usage-ledger
// itself; what is added here counts before them.
const { apps } = require(${source});

module.exports = {
  apps: apps.map((app) => ({
    ...app,
    cwd: __dirname,
    // name: 'usage-ledger',
    // env: { NODE_EXTRA_CA_CERTS: '/etc/ssl/our-ca.pem' },
  })),
};
`;
}

/** For systemd. Nothing but the folder can be written to by the daemon. */
export function systemdUnit({ folder, packageFolder, nodePath, user }: Installation): string {
  const cli = join(packageFolder, 'dist', 'cli.js');
  return `# usage-ledger.service: only checked with \`systemd-analyze verify\`, it has not been run under systemd.
#
#   sudo cp usage-ledger.service /etc/systemd/system/
#   sudo systemctl daemon-reload && sudo systemctl enable --now usage-ledger
#   journalctl -u usage-ledger -f
[Unit]
Description=usage-ledger: metered tenant usage in a ledger, with alerts
Wants=network-online.target
After=network-online.target

[Service]
Type=exec
User=${user.name}
WorkingDirectory=${escaped(folder)}
ExecStart=${quoted(nodePath)} --max-semi-space-size=4 ${quoted(cli)} daemon --config ${quoted(join(folder, 'usage-ledger.yml'))}
Restart=on-failure
RestartSec=5
# A wrong configuration, a taken port, a folder that others may write: to start again helps once a person has changed that.
RestartPreventExitStatus=${LASTING_EXIT_CODES.join(' ')}
# A stop drains running jobs for up to 19 s. The signal goes to the daemon alone: it stops its private redis-server itself.
TimeoutStopSec=25
KillMode=mixed
UMask=0077
MemoryMax=1G

NoNewPrivileges=yes
CapabilityBoundingSet=
ProtectSystem=strict
ProtectHome=read-only
ReadWritePaths=${quoted(folder)}
PrivateTmp=yes
PrivateDevices=yes
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
RemoveIPC=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service

[Install]
WantedBy=multi-user.target
`;
}

/** For compose: Valkey, and the daemon in its network, so that what they say to each other stays on loopback. */
export function composeFile({ folder, packageFolder, user }: Installation): string {
  const inside = relative(folder, packageFolder);
  const cli =
    inside === ''
      ? 'dist/cli.js'
      : inside.startsWith('..')
        ? 'node_modules/usage-ledger/dist/cli.js'
        : `${inside}/dist/cli.js`;
  return `# compose.yaml: \`docker compose up -d\`. Only its form has been checked, it has not been run. The daemon is what npm has
# installed into this folder; install it on the same kind of system (glibc).
services:
  valkey:
    image: valkey/valkey:8
    # noeviction: a queue that drops jobs is none.
    command: [valkey-server, --bind, 127.0.0.1, --appendonly, "yes", --maxmemory-policy, noeviction]
    volumes:
      - valkey:/data
    healthcheck:
      test: [CMD, valkey-cli, ping]
      interval: 5s
    restart: unless-stopped
    cap_drop: [ALL]
    cap_add: [SETGID, SETUID, CHOWN, DAC_OVERRIDE]   # its start script gives up root
    security_opt: ["no-new-privileges:true"]

  usage-ledger:
    image: node:24-bookworm-slim
    # 127.0.0.1 is the same for both services. To publish the pages, set http.host to 0.0.0.0 and http.token, and put
    # ports: ["9464:9464"] under valkey, which the network belongs to.
    network_mode: service:valkey
    depends_on:
      valkey:
        condition: service_healthy
    user: "${user.uid}:${user.gid}"
    working_dir: /srv/usage-ledger
    volumes:
      - .:/srv/usage-ledger
    environment:
      REDIS_URL: redis://127.0.0.1:6379
    command: [node, --max-semi-space-size=4, ${cli}, daemon]
    healthcheck:
      test: [CMD, node, -e, "fetch('http://127.0.0.1:9464/healthz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
      interval: 30s
      start_period: 30s
    restart: unless-stopped
    # A stop drains running jobs for up to 19 s.
    stop_grace_period: 25s
    init: true
    read_only: true
    tmpfs: [/tmp]
    cap_drop: [ALL]
    security_opt: ["no-new-privileges:true"]

volumes:
  valkey:
`;
}

/** A path as `require` takes it: relative for what lies below the folder, so that both can be moved together. */
function fromFolder(folder: string, file: string): string {
  const path = relative(folder, file);
  return path.startsWith('..') || isAbsolute(path) ? file : `./${path}`;
}

/** systemd reads a percent sign as the begin of a specifier. */
function escaped(path: string): string {
  return path.replaceAll('%', '%%');
}

function quoted(path: string): string {
  const text = escaped(path);
  return /[\s"'\\]/.test(text) ? `"${text.replace(/["\\]/g, '\\$&')}"` : text;
}

interface WrittenSamples {
  written: string[];
  kept: string[];
}

interface SampleChoice extends Installation {
  systemd: boolean;
  compose: boolean;
}

/**
 * Writes `usage-ledger.yml` (readable for the user alone, since a secret may be put into it), `.env.example` and what
 * the daemon is run by into an existing folder. A file that is there is never touched. Throws AppError
 * `sample_not_written` when the folder cannot be written to.
 */
export function writeSamples(choice: SampleChoice): WrittenSamples {
  const files = [
    { name: CONFIG_FILE_NAME, text: `${editorLine(choice)}${sampleConfig()}`, mode: 0o600 },
    { name: '.env.example', text: sampleEnv(), mode: 0o644 },
    { name: 'ecosystem.config.cjs', text: pm2File(choice), mode: 0o644 },
    ...(choice.systemd ? [{ name: 'usage-ledger.service', text: systemdUnit(choice), mode: 0o644 }] : []),
    ...(choice.compose ? [{ name: 'compose.yaml', text: composeFile(choice), mode: 0o644 }] : []),
  ];
  const result: WrittenSamples = { written: [], kept: [] };
  for (const { name, text, mode } of files) {
    const file = join(choice.folder, name);
    (createFile(file, text, mode) ? result.written : result.kept).push(file);
  }
  return result;
}

/** Editors that know YAML's language server complete and check the file by this line. */
function editorLine({ packageFolder }: Installation): string {
  return `# yaml-language-server: $schema=${join(packageFolder, 'schemas/config.json')}\n`;
}

/** False when the file exists. Half a file is removed again: it would be kept for ever otherwise. */
function createFile(file: string, text: string, mode: number): boolean {
  let handle: number | undefined;
  try {
    handle = openSync(file, 'wx', mode);
    writeFileSync(handle, text);
    return true;
  } catch (error) {
    if (handle !== undefined) rmSync(file, { force: true });
    else if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw new AppError('sample_not_written', `${file} cannot be written`, {
      hint: 'check that the folder exists, belongs to this user, is writable and has space left',
      cause: error,
    });
  } finally {
    if (handle !== undefined) closeSync(handle);
  }
}
