import { type Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { BROWSER, bundleFiles, launchBrowser, PageStage } from './page-stage.js';
import { setScene } from './page-scene.js';

let files: ReadonlyMap<string, Buffer>;
let browser: Browser;
let stage: PageStage;

describe.skipIf(BROWSER === undefined)('a session of the page (needs chromium)', () => {
  beforeAll(async () => {
    files = await bundleFiles();
    browser = await launchBrowser();
  });

  afterAll(() => browser.close());

  beforeEach(async () => {
    stage = await PageStage.open(files, browser);
    setScene(stage.agent);
  });

  afterEach(async () => {
    await stage[Symbol.asyncDispose]();
  });

  const enter = async (): Promise<void> => {
    await stage.page.goto(stage.server.makeLink());
    await stage.page.getByText('Connected').waitFor();
  };

  it('begins with a link that is pasted into the address of a page that is open, locked or not', async () => {
    const { page } = stage;
    await page.goto(stage.origin);
    await page.getByRole('heading', { name: 'The page needs a new link' }).waitFor();
    await enter();
    expect(page.url()).not.toContain('key');
    await page.goto(`${stage.origin}/#/pods`);
    await enter();
    expect(page.url()).not.toContain('key');
    expect(await page.getByText('There is no such page').count()).toBe(0);
  });

  it('says that it has ended when the server was started again, and goes on once the browser has a new link', async () => {
    const { page } = stage;
    await enter();
    await stage.restartServer();
    await page.getByRole('alert').getByText('the session has ended. Open the link').waitFor();
    const other = await page.context().newPage();
    await other.goto(stage.server.makeLink());
    await other.getByText('Connected', { exact: true }).waitFor();
    await page.getByText('Connected', { exact: true }).waitFor();
    await page.getByRole('alert').waitFor({ state: 'detached' });
    await page.goto(`${stage.origin}/#/node`);
    await page.getByText('Who uses most').waitFor();
  });

  it('says that an agent hangs which neither answers nor ends the connection', async () => {
    const { page, agent } = stage;
    await page.clock.install();
    await enter();
    agent.on('GET /events', () => undefined);
    await page.clock.fastForward(39_000);
    expect(await page.getByRole('alert').count()).toBe(0);
    await page.clock.fastForward(2_000);
    await page.getByRole('alert').getByText('nothing has come for 40 s').waitFor();
    // The server of the page takes the next connection, which is no answer of the agent's.
    await page.clock.fastForward(5_000);
    expect(await page.getByText('Disconnected', { exact: true }).count()).toBe(1);
    setScene(agent);
    await page.clock.fastForward(50_000);
    await page.clock.fastForward(6_000);
    await page.clock.resume();
    await page.getByText('Connected', { exact: true }).waitFor();
  });

  it('says that the clocks of browser and node differ', async () => {
    const { page } = stage;
    await page.addInitScript('const now = Date.now; Date.now = () => now() + 3_600_000;');
    await page.goto(stage.server.makeLink());
    await page.getByText(/The clock of this browser is (?:1h|59m59s) ahead of that of the machine/).waitFor();
  });
});
