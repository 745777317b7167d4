import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const run = promisify(execFile);
/** Neither pages of manuals nor translations, as Debian's own slim image. */
const SLIM = ['man', 'doc', 'locale', 'info'].map((part) => `--dpkgopt=path-exclude=/usr/share/${part}/*`);

/** What an image says of how it is run, as `docker inspect` shows it. */
export interface ImageSettings {
  User: string;
  Env: string[];
  Entrypoint: string[];
  Cmd: string[];
  WorkingDir: string;
  Volumes: Record<string, object>;
  Healthcheck: { Test: string[] };
  Labels: Record<string, string>;
}

/** Builds images in a store of its own below `folder`; nothing is pulled. */
export class Images {
  readonly #store: readonly string[];
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
    const at = (part: string): string => join(folder, part);
    this.#store = ['--root', at('storage'), '--runroot', at('run'), '--storage-driver', 'vfs'];
  }

  /** The images that Containerfile begins with, of Debian's packages and of npm's Node, under the names that it calls them by. */
  async buildBases(): Promise<void> {
    const tar = join(this.#folder, 'debian.tar');
    await run('mmdebstrap', ['--quiet', '--variant=minbase', '--include=ca-certificates', ...SLIM, 'trixie', tar]);
    const debian = await this.#container('scratch');
    await this.#buildah('add', '--quiet', debian, tar, '/');
    await this.#commit(debian, 'debian:trixie-slim');

    const node = await this.#container('debian:trixie-slim');
    const npm = join((await run('npm', ['root', '--global'])).stdout.trim(), 'npm');
    await this.#buildah('copy', '--quiet', node, join(ROOT, 'node_modules/node/bin/node'), '/usr/local/bin/node');
    await this.#buildah('copy', '--quiet', node, npm, '/usr/local/lib/node_modules/npm');
    await this.#inside(node, 'ln', '-s', '../lib/node_modules/npm/bin/npm-cli.js', '/usr/local/bin/npm');
    await this.#commit(node, 'node:24-trixie-slim');
  }

  /** From the very file that users build from. The build reaches registries by what this machine needs for that. */
  async build(name: string): Promise<void> {
    const npm = await run('npm', ['config', 'get', 'globalconfig']);
    const shared = [
      ['/etc/ssl/certs', '/etc/ssl/certs'],
      [join(homedir(), '.npmrc'), '/root/.npmrc'],
      [npm.stdout.trim(), '/usr/local/etc/npmrc'],
    ].filter(([here = '']) => existsSync(here));
    const volumes = shared.flatMap(([here, inside]) => ['--volume', `${here}:${inside}:ro`]);
    const file = ['--format', 'docker', '--file', join(ROOT, 'Containerfile')];
    await this.#buildah('build', '--quiet', '--isolation', 'chroot', ...volumes, ...file, '--tag', name, ROOT);
  }

  /** Another image, with a file of this machine put in. */
  async change(from: string, [here, inside]: readonly [string, string], name: string): Promise<void> {
    const container = await this.#container(from);
    await this.#buildah('copy', '--quiet', container, here, inside);
    await this.#commit(container, name);
  }

  async settings(name: string): Promise<ImageSettings> {
    const { Docker } = JSON.parse(await this.#buildah('inspect', '--type', 'image', name)) as {
      Docker: { config: ImageSettings };
    };
    return Docker.config;
  }

  async megabytes(name: string): Promise<number> {
    const listed = await this.#buildah('images', '--format', '{{.Size}}', name);
    const [, size, unit] = /^([\d.]+) (MB|GB)/.exec(listed) ?? [];
    return Number(size) * (unit === 'GB' ? 1000 : 1);
  }

  /** A folder with the files of the image, for one container. */
  async unpack(name: string): Promise<string> {
    const container = await this.#container(name);
    return (await this.#buildah('mount', container)).trim();
  }

  async #container(from: string): Promise<string> {
    return (await this.#buildah('from', '--pull-never', from)).trim();
  }

  async #inside(container: string, ...command: string[]): Promise<void> {
    await this.#buildah('run', '--isolation', 'chroot', container, '--', ...command);
  }

  async #commit(container: string, name: string): Promise<void> {
    await this.#buildah('commit', '--quiet', '--rm', container, name);
  }

  async #buildah(...args: string[]): Promise<string> {
    const { stdout } = await run('buildah', [...this.#store, ...args], { maxBuffer: 64 * 1024 * 1024 });
    return stdout;
  }
}
