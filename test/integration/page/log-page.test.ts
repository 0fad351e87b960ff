import { type ServerResponse } from 'node:http';
import { type Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { aKubePod } from '#support/harness/agent-command-harness.js';
import { BROWSER, bundleFiles, launchBrowser, PageStage } from './page-stage.js';

const LOG = '/api/v1/namespaces/default/pods/web/log';
const BEGIN_MS = Date.parse('2026-01-02T03:04:00.000Z');
let files: ReadonlyMap<string, Buffer>;
let browser: Browser;
let stage: PageStage;
let watcher: ServerResponse;
/** The answers to requests for the log. */
let answers: ServerResponse[];

const line = (second: number, text: string): string =>
  `${new Date(BEGIN_MS + second * 1_000).toISOString()} ${text}\n`;

describe.skipIf(BROWSER === undefined)('a log on the page (needs chromium)', () => {
  beforeAll(async () => {
    files = await bundleFiles();
    browser = await launchBrowser();
  });

  afterAll(() => browser.close());

  beforeEach(async () => {
    stage = await PageStage.open(files, browser);
    answers = [];
    const { agent, page } = stage;
    agent.on('GET /events', (_, answer) => void answer.write(':\n\n'));
    agent.on('WATCH /api/v1/pods', (_, answer) => {
      watcher = answer;
      run('ADDED', 'one');
      watcher.write(`${JSON.stringify({ type: 'BOOKMARK', object: { metadata: {} } })}\n`);
      return undefined;
    });
    agent.on(`GET ${LOG}`, (_, answer) => void answers.push(answer));
    await page.goto(stage.server.makeLink());
    await page.getByText('Connected').waitFor();
  });

  afterEach(async () => {
    await stage[Symbol.asyncDispose]();
  });

  /** The pod's container is this one now, or none. */
  const run = (type: string, id: string | undefined): void => {
    const state = { running: { startedAt: '2026-01-02T03:04:00Z' } };
    const isThere = id !== undefined;
    const container = { name: 'main', ready: isThere, ...(isThere && { containerID: id }), state };
    const status = { phase: 'Running', containerStatuses: [container] };
    watcher.write(`${JSON.stringify({ type, object: aKubePod('web', { status }) })}\n`);
  };
  const open = async (query = ''): Promise<void> => {
    await stage.page.goto(`${stage.origin}/#/pods/default/web/logs${query}`);
    await expect.poll(() => answers.length).toBe(1);
  };
  const shown = async (): Promise<string[]> =>
    await stage.page.locator('.log-lines .line > span').allTextContents();

  it('goes on with the next container of that name', async () => {
    await open();
    answers[0]!.end(line(1, 'first words') + line(2, 'last words'));
    await stage.page.getByText('The log has ended.').waitFor();
    // For a moment, as while a pod is restarted, there is none.
    run('MODIFIED', undefined);
    await stage.page.getByText('NotReady').waitFor();
    run('MODIFIED', 'two');
    await expect.poll(() => answers.length).toBe(2);
    const { query } = stage.agent.requests.findLast(({ path }) => path === LOG)!;
    expect([query['sinceTime'], query['tailLines']]).toEqual([undefined, undefined]);
    answers[1]!.write(line(1, 'once more'));
    await stage.page.getByText('once more').waitFor();
    expect(await shown()).toEqual(['first words', 'last words', 'main was started again', 'once more']);
    expect(await stage.page.getByText('The log has ended.').count()).toBe(0);
  });

  it('goes on where it was when the connection broke, with no line twice', async () => {
    await open();
    answers[0]!.write(line(1, 'before') + line(2, 'the last') + line(2, 'half a line').slice(0, -6));
    await stage.page.getByText('the last').waitFor();
    answers[0]!.destroy();
    await stage.page.getByRole('alert').getByText('trying again').waitFor();
    await expect.poll(() => answers.length, { timeout: 20_000 }).toBe(2);
    const { query } = stage.agent.requests.findLast(({ path }) => path === LOG)!;
    expect(query['sinceTime']).toBe('2026-01-02T03:04:02.000Z');
    answers[1]!.write(line(2, 'the last') + line(2, 'half a line') + line(2, 'same') + line(3, 'after'));
    await stage.page.getByText('after').waitFor();
    expect(await shown()).toEqual(['before', 'the last', 'half a line', 'same', 'after']);
  });

  it('tries again ever more rarely while the agent fails, and says all the time why', async () => {
    await open();
    const { page } = stage;
    const alert = page.getByRole('alert');
    await page.evaluate(`
      window.changes = 0;
      new MutationObserver(() => window.changes++).observe(document.querySelector('.log'), { childList: true });
    `);
    const fail = async (count: number): Promise<void> => {
      await expect.poll(() => answers.length, { timeout: 20_000 }).toBe(count);
      answers[count - 1]!.writeHead(503).end(
        JSON.stringify({ kind: 'Status', message: 'the agent is busy' }),
      );
    };
    await fail(1);
    await alert.getByText('the agent is busy; trying again').waitFor();
    expect(await page.evaluate('window.changes')).toBe(1);
    const beganMs = performance.now();
    for (let count = 2; count <= 5; count++) await fail(count);
    expect(performance.now() - beganMs).toBeGreaterThan(3_000);
    expect(await page.evaluate('window.changes')).toBe(1);
    await expect.poll(() => answers.length, { timeout: 20_000 }).toBe(6);
    answers[5]!.write(line(1, 'at last'));
    await page.getByText('at last').waitFor();
    expect(await alert.count()).toBe(0);
  });

  it('shows a line that never ends in pieces, and can search it', async () => {
    await open();
    answers[0]!.write(line(0, 'begin').trimEnd());
    for (let at = 0; at < 300; at++) answers[0]!.write('xo'.repeat(50_000));
    const { page } = stage;
    await page.getByText(/\d+ older lines are not shown/).waitFor();
    await page.getByPlaceholder('Search in the log').fill('x');
    await page.locator('mark').first().waitFor();
    expect(Number(await page.evaluate('document.querySelectorAll("*").length'))).toBeLessThan(20_000);
  });

  it('shows a moment however much was written since, and Follow leads to the newest', async () => {
    await open(`?container=main&at=${BEGIN_MS + 5_000_000}`);
    const { page } = stage;
    for (let at = 0; at < 60_000; at += 100)
      answers[0]!.write(
        Array.from({ length: 100 }, (_, each) => line(at + each, `line ${at + each}.`)).join(''),
      );
    await page.getByText('Later lines are not shown').waitFor();
    await page.getByText('line 5000.').waitFor();
    await page.getByRole('button', { name: 'Follow' }).click();
    await expect.poll(() => answers.length).toBe(2);
    expect(stage.agent.requests.findLast(({ path }) => path === LOG)!.query['tailLines']).toBe('2000');
  });
});
