/**
 * Questions about a node that a new user answers with the page alone. Each click and each text that is typed counts as a
 * step, and the test reads the answer from the page.
 *
 * With PODLOOP_RESULTS set, docs/results/page-tasks.md is written again.
 *
 * @module
 */
import { type Browser, type Locator, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { recordResult } from '../results-page.js';
import { setScene } from './page-scene.js';
import { BROWSER, bundleFiles, launchBrowser, PageStage } from './page-stage.js';

const MINUTE = 60_000;
const COMMAND = 'PODLOOP_RESULTS=1 npx vitest run test/integration/page/tasks.test.ts';

/** The steps of a new user towards an answer. */
class Walk {
  readonly steps: string[] = [];
  readonly #page: Page;

  constructor(page: Page) {
    this.#page = page;
  }

  /** Opens one of the views. */
  async open(view: string): Promise<void> {
    await this.click(
      `the view ${view}`,
      this.#page.getByRole('navigation', { name: 'Views' }).getByText(view),
    );
  }

  async click(what: string, target: Locator): Promise<void> {
    this.steps.push(`clicks ${what}`);
    await target.click();
  }

  async type(what: string, target: Locator, text: string): Promise<void> {
    this.steps.push(`types ${what}`);
    await target.fill(text);
  }

  /** Reads something that has to be there. */
  async read(target: Locator): Promise<string> {
    await target.waitFor();
    return (await target.innerText()).replaceAll(/\s+/g, ' ').trim();
  }
}

describe.skipIf(BROWSER === undefined)('somebody who is new to the page (needs chromium)', () => {
  let files: ReadonlyMap<string, Buffer>;
  let browser: Browser;
  let stage: PageStage;
  let page: Page;
  let walk: Walk;
  let nowMs: number;

  beforeAll(async () => {
    files = await bundleFiles();
    browser = await launchBrowser();
  });

  afterAll(() => browser.close());

  beforeEach(async () => {
    stage = await PageStage.open(files, browser);
    ({ page } = stage);
    nowMs = Date.now();
    setScene(stage.agent, nowMs);
    await page.setViewportSize({ width: 1360, height: 800 });
    await page.goto(stage.server.makeLink());
    await page.getByText('Connected', { exact: true }).waitFor();
    walk = new Walk(page);
  });

  afterEach(async () => {
    expect(stage.complaints).toEqual([]);
    await stage[Symbol.asyncDispose]();
  });

  /** Records how a question was answered; `remark` says what was hard at first, and what was changed for it. */
  const found = async (name: string, answer: string, remark: string): Promise<void> => {
    const steps = Object.fromEntries(walk.steps.map((step, at) => [`${at + 1}.`, step]));
    const values = { ...steps, reads: answer.replaceAll('|', '\\|') };
    await recordResult(
      'page-tasks',
      'Questions answered on the page alone',
      { name, what: remark, values },
      COMMAND,
    );
  };
  const firstRow = (): Locator => page.locator('table.pods tbody tr').first();

  it('finds which container was restarted most, and why', async () => {
    await walk.open('Pods');
    await walk.click('the heading Restarts', page.getByRole('button', { name: 'Restarts' }));
    const answer = await walk.read(firstRow());
    expect(answer).toMatch(/^jobs .*CrashLoopBackOff main: .*exit code 137, OOMKilled 0\/1 12 /);
    await found(
      'Which container restarted most, and why?',
      answer,
      'The first click sorted by the fewest restarts, and a container that runs again did not say how it had ended. Now the most come first, and the last end stands below the state.',
    );
  });

  it('finds what hung at a certain time', async () => {
    const at = new Date(nowMs - 5.5 * MINUTE);
    const local = new Date(at.getTime() - at.getTimezoneOffset() * MINUTE).toISOString().slice(0, 16);
    await walk.type('the time into Go to', page.getByLabel('Go to'), local);
    await walk.click('the number of warnings', page.getByTitle('List them'));
    const problems = page.getByRole('complementary', { name: 'Problems' });
    await walk.click(
      'the line of the call that hangs',
      problems.getByRole('button', { name: /ContainerStatus hangs/ }),
    );
    const answer = await walk.read(page.getByRole('complementary', { name: 'Details' }).locator('.item'));
    expect(answer).toMatch(/^ContainerStatus hangs .*, 1m40s .*containerId db-0/);
    await expect.poll(() => page.locator('.row-label.selected').innerText()).toContain('db');
    await found(
      'What hung at 14:03?',
      answer,
      'There was no way to a time but to move there, and no list of what went wrong: each row had to be looked at. Now there is a field for the time, and the number of warnings opens the list of them.',
    );
  });

  it('finds which pod uses most memory', async () => {
    await walk.open('Pods');
    await walk.click('the heading Memory', page.getByRole('button', { name: 'Memory' }));
    const answer = await walk.read(firstRow());
    expect(answer).toMatch(/^mail /);
    const amounts = await page.locator('table.pods tbody tr td:nth-child(6)').allInnerTexts();
    const bytes = amounts.map((text) => Number(text.split(' ')[0]));
    expect(bytes).toEqual([...bytes].sort((one, other) => other - one));
    expect(bytes[0]).toBe(290);
    await found(
      'Which pod uses most memory?',
      answer,
      'The table of pods had no usage, and that of the node was sorted by CPU alone. Now the table of pods has both, and both tables can be sorted by either.',
    );
  });

  it('finds why a pod is not ready', async () => {
    await walk.open('Pods');
    await walk.type('“not” into the filter', page.getByPlaceholder(/^Filter by name/), 'not');
    await walk.click('the pod that is left', page.getByRole('link', { name: 'search' }));
    const card = page.getByRole('region', { name: 'main' });
    const answer = await walk.read(card.locator('.fact', { hasText: 'Readiness probe' }));
    expect(answer).toMatch(/GET http :8080\/ready, every 5s Fails since .*statuscode: 503$/);
    await found(
      'Why is this pod not ready?',
      answer,
      'The page said that the container is not ready, and named its probes without what they ask or answer. Now each probe stands with its request, and since when it fails with which words.',
    );
  });

  it('finds what a container wrote when it died', async () => {
    await walk.click('the row mail', page.getByRole('button', { name: /^mail/ }));
    const details = page.getByRole('complementary', { name: 'Details' });
    await walk.click('its last death', details.getByRole('button', { name: /^ContainerDied/ }).first());
    await walk.click('Log at this moment', details.getByRole('link', { name: 'Log at this moment' }));
    const answer = await walk.read(page.locator('.log-lines .line.moment'));
    expect(answer).toContain('fatal: certificate of smtp.example has expired');
    await found(
      'What did it write when it died?',
      answer,
      'The log at the moment of a death was that of the container which runs now. Where that began later, it is the log of the one before.',
    );
  });

  it('finds what the runtime does not answer now', async () => {
    await walk.open('Generator');
    const table = page.locator('.table-box', { hasText: 'Stuck pods' });
    const answer = await walk.read(table.locator('tbody'));
    expect(answer).toMatch(/^db default hung 9s/);
    await page.locator('.table-box', { hasText: 'Calls in flight' }).getByText('ContainerStatus').waitFor();
    await found('What is stuck right now?', answer, 'Nothing was hard.');
  });

  it('finds which disk is nearly full, and what is on it', async () => {
    await walk.open('Node');
    const disks = page.getByRole('region', { name: 'Disks' });
    expect(await walk.read(disks.locator('.fact', { hasText: 'Containers' }))).toContain('95%');
    const images = page.locator('.table-box', { hasText: 'Images' });
    const answer = `Containers 95%, Images 85%; ${await walk.read(images.locator('tbody tr').first())}`;
    expect(answer).toContain('docker.io/library/postgres:17 418 MiB');
    await found(
      'Which disk is nearly full, and what is on it?',
      answer,
      'The page had no images. Now the node lists them, the largest first.',
    );
  });

  it('finds what was wrong before, and what to do about it', async () => {
    await walk.open('Doctor');
    await walk.click('the incident', page.getByRole('link', { name: /#1/ }));
    const answer = await walk.read(page.getByRole('article'));
    expect(answer).toMatch(
      /critical CallHangs .*default\/db is not answered for 100 s What to do: look at its shim$/,
    );
    await found(
      'What was wrong this morning, and what should be done?',
      answer,
      'Nothing was hard. From a recording of the incident (`podloop incident show 1 --web`) what was measured is shown, too.',
    );
  });
});
