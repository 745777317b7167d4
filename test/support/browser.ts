// cspell:ignore Behavior
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import axe from 'axe-core';
import { afterAll, beforeAll, onTestFinished } from 'vitest';

/** What a page has done that it should not: errors of its console, exceptions, requests that failed or went elsewhere. */
export interface Looked {
  complaints: string[];
  requests: string[];
  /** The value of an expression in the page. */
  evaluate(expression: string): Promise<unknown>;
  /** Clicks into the middle of the first element that a selector finds. */
  click(selector: string): Promise<void>;
  /** Presses one key: its name, or one character. */
  press(key: 'Tab' | 'Enter' | ' ' | string): Promise<void>;
  /** Chooses a file in the first file field that a selector finds. */
  choose(selector: string, file: string): Promise<void>;
  /** Saves what this tab downloads in a folder, under the name that the page gives it. */
  saveDownloads(folder: string): Promise<void>;
  /** What axe-core calls serious or critical, with the elements it is about. */
  seriousFaults(): Promise<string[]>;
  /** Writes what is to be seen into a file, for people. */
  screenshot(file: string): Promise<void>;
}

interface Message {
  id?: number;
  method?: string;
  sessionId?: string;
  // biome-ignore lint/suspicious/noExplicitAny: the protocol of the browser is not described here
  params?: any;
  // biome-ignore lint/suspicious/noExplicitAny: the same
  result?: any;
  error?: { message: string };
}

export type Look = (
  url: string,
  width: number,
  scheme?: 'light' | 'dark',
  options?: { withoutScripts?: boolean; headers?: Readonly<Record<string, string>> },
) => Promise<Looked>;

interface Browser {
  look: Look;
  end(): Promise<void>;
}

/** Keys that are not typed as a character need their code. */
const KEY_CODES: Readonly<Record<string, { code: string; windowsVirtualKeyCode: number }>> = {
  Tab: { code: 'Tab', windowsVirtualKeyCode: 9 },
  Enter: { code: 'Enter', windowsVirtualKeyCode: 13 },
  ' ': { code: 'Space', windowsVirtualKeyCode: 32 },
};

const FIND_FAULTS = `axe.run({ resultTypes: ['violations'] }).then(({ violations }) =>
  violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => id + ': ' + html.slice(0, 200) + ' ' + failureSummary)))`;

/** Starts a headless Chromium that ends when the test has finished. */
export async function startBrowser(): Promise<Look> {
  const { look, end } = await launch();
  onTestFinished(end);
  return look;
}

/** Starts one headless Chromium for all tests of a file, which calls this at its top level. */
export function browserOfFile(): Look {
  let browser: Browser | undefined;
  beforeAll(async () => {
    browser = await launch();
  });
  afterAll(() => browser?.end());
  return (...wanted) => {
    if (browser === undefined) throw new Error('the browser of the file is not running: look at pages within tests');
    return browser.look(...wanted);
  };
}

async function launch(): Promise<Browser> {
  const options = ['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run'];
  const profile = mkdtempSync(join(tmpdir(), 'ledger-browser-'));
  const child = spawn(
    'chromium',
    [...options, `--user-data-dir=${profile}`, '--remote-debugging-port=0', 'about:blank'],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  const exited = once(child, 'exit');
  const end = async (): Promise<void> => {
    child.kill('SIGTERM');
    await exited;
    rmSync(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  };
  const socket = new WebSocket(await debuggerUrl(child.stderr));
  // It would wait for ever to say more.
  child.stderr.resume();
  await once(socket, 'open');
  const waiting = new Map<number, (message: Message) => void>();
  const listeners = new Set<(message: Message) => void>();
  socket.addEventListener('message', ({ data }) => {
    const message = JSON.parse(String(data)) as Message;
    if (message.id !== undefined) waiting.get(message.id)?.(message);
    for (const listener of listeners) listener(message);
  });
  let lastId = 0;
  const call = (method: string, params: object = {}, sessionId?: string): Promise<Message['result']> =>
    new Promise((resolve, reject) => {
      lastId += 1;
      waiting.set(lastId, ({ result, error }) => {
        if (error === undefined) resolve(result);
        else reject(new Error(`${method}: ${error.message}`));
      });
      socket.send(JSON.stringify({ id: lastId, method, params, sessionId }));
    });

  const look: Look = async (url, width, scheme = 'light', { withoutScripts = false, headers = {} } = {}) => {
    const { targetId } = await call('Target.createTarget', { url: 'about:blank' });
    onTestFinished(async () => {
      await call('Target.closeTarget', { targetId });
    });
    const { sessionId } = await call('Target.attachToTarget', { targetId, flatten: true });
    const ask = (method: string, params: object = {}) => call(method, params, sessionId);
    const complaints: string[] = [];
    const requests: string[] = [];
    const loaded = new Promise<void>((resolve) => {
      listeners.add(({ method, params, sessionId: of }) => {
        if (of !== sessionId) return;
        if (method === 'Page.loadEventFired') resolve();
        if (method === 'Network.requestWillBeSent') requests.push(params.request.url);
        if (method === 'Runtime.exceptionThrown') complaints.push(params.exceptionDetails.text);
        if (method === 'Log.entryAdded' && params.entry.level === 'error') complaints.push(params.entry.text);
        if (method === 'Runtime.consoleAPICalled' && params.type === 'error') complaints.push('console.error');
      });
    });
    for (const domain of ['Page', 'Network', 'Runtime', 'Log']) await ask(`${domain}.enable`);
    const size = { width, height: 900, deviceScaleFactor: 1, mobile: width < 600 };
    await ask('Emulation.setDeviceMetricsOverride', size);
    const features = [{ name: 'prefers-color-scheme', value: scheme }];
    await ask('Emulation.setEmulatedMedia', { features });
    if (withoutScripts) await ask('Emulation.setScriptExecutionDisabled', { value: true });
    await ask('Network.setExtraHTTPHeaders', { headers });
    await ask('Page.navigate', { url });
    await loaded;
    return {
      complaints,
      requests,
      async evaluate(expression) {
        const { result } = await ask('Runtime.evaluate', { expression, returnByValue: true, awaitPromise: true });
        return result.value;
      },
      async click(selector) {
        const middle = `(() => { const element = document.querySelector(${JSON.stringify(selector)});
          element.scrollIntoView({ block: 'center' });
          const { x, y, width, height } = element.getBoundingClientRect();
          return { x: x + width / 2, y: y + height / 2 }; })()`;
        const { result } = await ask('Runtime.evaluate', { expression: middle, returnByValue: true });
        for (const type of ['mousePressed', 'mouseReleased']) {
          await ask('Input.dispatchMouseEvent', { type, ...result.value, button: 'left', clickCount: 1 });
        }
      },
      async press(key) {
        const text = key === 'Enter' ? '\r' : key.length === 1 ? key : undefined;
        await ask('Input.dispatchKeyEvent', {
          type: 'keyDown',
          key,
          ...KEY_CODES[key],
          ...(text === undefined ? {} : { text }),
        });
        await ask('Input.dispatchKeyEvent', { type: 'keyUp', key, ...KEY_CODES[key] });
      },
      async choose(selector, file) {
        const { root } = await ask('DOM.getDocument');
        const { nodeId } = await ask('DOM.querySelector', { nodeId: root.nodeId, selector });
        await ask('DOM.setFileInputFiles', { nodeId, files: [file] });
      },
      async saveDownloads(folder) {
        // cspell:disable-next-line -- the protocol's own name
        await call('Browser.setDownloadBehavior', { behavior: 'allow', downloadPath: folder });
      },
      async seriousFaults() {
        // In a world of its own: what the page may run is not asked there.
        const { frameTree } = await ask('Page.getFrameTree');
        const world = { frameId: frameTree.frame.id, worldName: 'axe' };
        const { executionContextId: contextId } = await ask('Page.createIsolatedWorld', world);
        await ask('Runtime.evaluate', { expression: axe.source, contextId });
        const how = { contextId, returnByValue: true, awaitPromise: true };
        const { result, exceptionDetails } = await ask('Runtime.evaluate', { expression: FIND_FAULTS, ...how });
        if (exceptionDetails !== undefined) throw new Error(`axe-core failed: ${exceptionDetails.text}`);
        return result.value as string[];
      },
      async screenshot(file) {
        const { data } = await ask('Page.captureScreenshot', { format: 'png', captureBeyondViewport: true });
        writeFileSync(file, Buffer.from(data, 'base64'));
      },
    };
  };
  return { look, end };
}

async function debuggerUrl(stderr: NodeJS.ReadableStream): Promise<string> {
  for await (const line of createInterface({ input: stderr })) {
    const [, url] = /DevTools listening on (ws:\S+)/.exec(line) ?? [];
    if (url !== undefined) return url;
  }
  throw new Error('Chromium ended before it could be asked');
}
