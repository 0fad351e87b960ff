/**
 * Writes the pictures of the page in docs/images; runs only when it is asked to, since somebody has to look at them:
 *
 *   PODLOOP_PICTURES=1 npx vitest run test/integration/page/pictures.test.ts
 *
 * Before you commit them, reduce them to 255 colours, so that the files are small. With a folder in place of 1, as in
 * PODLOOP_PICTURES=/a/folder, they are written there, and with them those of more views in both colour schemes.
 *
 * @module
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { type Browser, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BROWSER, bundleFiles, launchBrowser, PageStage } from './page-stage.js';
import { setScene } from './page-scene.js';

const { PODLOOP_PICTURES } = process.env;
const FOLDER = new URL(
  PODLOOP_PICTURES === '1' ? '../../../docs/images/' : `file://${PODLOOP_PICTURES}/`,
  import.meta.url,
);
const EXEC = '/api/v1/namespaces/default/pods/web/exec';
const SCREEN = [
  '\u001b[1;32mweb\u001b[0m:/app$ ls -la\r\n',
  'total 24\r\ndrwxr-xr-x 3 app app 4096 Nov 30 06:01 \u001b[1;34m.\u001b[0m\r\n',
  'drwxr-xr-x 1 app app 4096 Nov 30 06:01 \u001b[1;34m..\u001b[0m\r\n',
  '-rw-r--r-- 1 app app  812 Nov 30 06:01 index.html\r\n-rwxr-xr-x 1 app app 9120 Nov 30 06:01 \u001b[1;32mserver\u001b[0m\r\n',
  '\u001b[1;32mweb\u001b[0m:/app$ ',
].join('');

interface Picture {
  readonly name: string;
  readonly scheme: 'dark' | 'light';
  readonly size: readonly [number, number];
  readonly view: string;
  /** What is clicked before the picture is taken. */
  readonly prepare?: (page: Page) => Promise<void>;
}

const listProblems = async (page: Page): Promise<void> => {
  await page.getByTitle('List them').click();
  await page.getByRole('button', { name: /ContainerStatus hangs/ }).click();
};
const openTerminal = async (page: Page): Promise<void> => {
  await page.getByRole('button', { name: 'Open a terminal' }).click();
  await page.locator('.xterm-accessibility-tree').getByText('index.html').waitFor();
};
const WIDE = [1280, 720] as const;
const PHONE = [390, 760] as const;
const PICTURES: readonly Picture[] = [
  { name: 'page-timeline', scheme: 'dark', size: WIDE, view: 'timeline', prepare: listProblems },
  { name: 'page-timeline-light', scheme: 'light', size: WIDE, view: 'timeline' },
  { name: 'page-pods', scheme: 'light', size: WIDE, view: 'pods' },
  { name: 'page-pod', scheme: 'dark', size: WIDE, view: 'pods/default/search' },
  {
    name: 'page-terminal',
    scheme: 'dark',
    size: WIDE,
    view: 'pods/default/web/terminal',
    prepare: openTerminal,
  },
  {
    name: 'page-terminal-light',
    scheme: 'light',
    size: WIDE,
    view: 'pods/default/web/terminal',
    prepare: openTerminal,
  },
  { name: 'page-node', scheme: 'light', size: WIDE, view: 'node' },
  { name: 'page-generator', scheme: 'dark', size: WIDE, view: 'generator' },
  { name: 'page-phone', scheme: 'dark', size: PHONE, view: 'timeline' },
  { name: 'page-phone-pods', scheme: 'light', size: PHONE, view: 'pods' },
  { name: 'page-phone-pod', scheme: 'light', size: PHONE, view: 'pods/default/search' },
];
/** Those that docs show. */
const IN_DOCS = ['page-timeline', 'page-pods', 'page-terminal', 'page-phone'];

describe.runIf(BROWSER !== undefined && PODLOOP_PICTURES !== undefined)('pictures of the page', () => {
  let browser: Browser;
  let files: ReadonlyMap<string, Buffer>;

  beforeAll(async () => {
    files = await bundleFiles();
    browser = await launchBrowser();
    await mkdir(FOLDER, { recursive: true });
  });

  afterAll(() => browser.close());

  const wanted = PICTURES.filter(({ name }) => PODLOOP_PICTURES !== '1' || IN_DOCS.includes(name));
  it.each(wanted)('$name', { timeout: 300_000 }, async ({ name, scheme, size, view, prepare }) => {
    await using stage = await PageStage.open(files, browser);
    const { page, agent } = stage;
    setScene(agent);
    agent.onSocket(EXEC, (socket) => socket.send(Buffer.concat([Buffer.of(1), Buffer.from(SCREEN)])));
    await page.setViewportSize({ width: size[0], height: size[1] });
    await page.emulateMedia({ colorScheme: scheme, reducedMotion: 'reduce' });
    await page.goto(stage.server.makeLink());
    await page.getByText('Connected', { exact: true }).waitFor();
    await page.goto(`${stage.origin}/#/${view}`);
    await page.locator('main > *').first().waitFor();
    await prepare?.(page);
    // So that the charts have some points.
    await page.waitForTimeout(7_000);
    await writeFile(new URL(`${name}.png`, FOLDER), await page.screenshot());
    expect(stage.complaints).toEqual([]);
  });
});
