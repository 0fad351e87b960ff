import { type ServerResponse } from 'node:http';
import { type Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { aKubePod } from '#support/harness/agent-command-harness.js';
import { BROWSER, bundleFiles, launchBrowser, PageStage } from './page-stage.js';

const MINUTE = 60_000;
const HOSTILE = `<img src=x onerror="document.title='taken'">`;
const web = { uid: 'uid-web', namespace: 'default', name: 'web' };
let files: ReadonlyMap<string, Buffer>;
let browser: Browser;
let stage: PageStage;
/** The answers that are still open, to send more or to break off. */
let following: ServerResponse[];
let number: number;

/** A record as the agent's history sends it. */
function record(agoMs: number, kind: string, reason: string, more: object = {}): string {
  const atMs = Date.now() - agoMs;
  const id = `${atMs}-${number++}`;
  const entry = { id, atMs, kind, type: 'Normal', reason, message: '', pod: web, container: 'main', ...more };
  return `id: ${id}\ndata: ${JSON.stringify(entry)}\n\n`;
}

const start = (agoMs: number, containerId: string): string =>
  record(agoMs, 'lifecycle', 'ContainerStarted', { details: { containerId, containerKind: 'container' } });
const death = (agoMs: number, containerId: string, exitCode: number): string => {
  const details = { containerId, containerKind: 'container', exitCode, containerReason: 'OOMKilled' };
  return record(agoMs, 'lifecycle', 'ContainerDied', { type: 'Warning', message: HOSTILE, details });
};

describe.skipIf(BROWSER === undefined)('the page in a browser (needs chromium)', () => {
  beforeAll(async () => {
    files = await bundleFiles();
    browser = await launchBrowser();
  });

  afterAll(() => browser.close());

  beforeEach(async () => {
    stage = await PageStage.open(files, browser);
    [following, number] = [[], 1];
    const { agent } = stage;
    agent.on('GET /agent', () => ({
      kind: 'Agent',
      nodeName: 'n1',
      version: '9',
      manifests: [],
      problems: [],
    }));
    agent.on('GET /events', ({ query }, answer) => {
      answer.setHeader('content-type', 'text/event-stream');
      if (query['follow'] === 'false') answer.end();
      else if (query['after'] === undefined) {
        following.push(answer);
        answer.write(
          [
            ...[start(10 * MINUTE, 'a'), death(5 * MINUTE, 'a', 137)],
            record(4.9 * MINUTE, 'restart', 'ContainerRestarted', { type: 'Warning' }),
            ...[
              start(4.8 * MINUTE, 'b'),
              record(MINUTE, 'probe', 'ReadinessFailed', { type: 'Warning', message: HOSTILE }),
            ],
          ].join(''),
        );
      } else {
        following.push(answer);
        answer.write(':\n\n');
      }
      return undefined;
    });
    agent.on('WATCH /api/v1/pods', (_, answer) => {
      const pods = [aKubePod('web'), aKubePod('idle')];
      for (const object of pods) answer.write(`${JSON.stringify({ type: 'ADDED', object })}\n`);
      answer.write(`${JSON.stringify({ type: 'BOOKMARK', object: { metadata: {} } })}\n`);
      return undefined;
    });
    agent.on('GET /api/v1/namespaces/default/pods/web/log', (_, answer) => {
      const at = (second: number): string => `2026-01-02T03:04:0${second}Z`;
      answer.write(`${at(1)} first\n${at(2)} ${HOSTILE}\n${at(3)} an Error here\n`);
      return undefined;
    });
    agent.on('GET /api/v1/namespaces/default/pods/web', () => {
      const pod = aKubePod('web') as { metadata: object };
      return { ...pod, metadata: { ...pod.metadata, annotations: { note: 'a\u202eb' } } };
    });
  });

  afterEach(async () => {
    expect(stage.complaints).toEqual([]);
    expect(await stage.page.title()).not.toBe('taken');
    await stage[Symbol.asyncDispose]();
  });

  const enter = async (): Promise<void> => {
    await stage.page.goto(stage.server.makeLink());
    await stage.page.getByText('Connected').waitFor();
  };

  it('opens by its link, which leaves no trace in the address, and another tab of the browser has it too', async () => {
    const { page } = stage;
    await enter();
    expect(page.url()).not.toContain('key');
    const second = await page.context().newPage();
    await second.goto(stage.origin);
    await second.getByText('Connected').waitFor();
    await page.reload();
    await page.getByText('Connected').waitFor();
  });

  it('stays closed for a link that was opened before, and without one', async () => {
    const link = stage.server.makeLink();
    await stage.page.goto(link);
    await stage.page.getByText('Connected').waitFor();
    const stranger = await (await browser.newContext()).newPage();
    await stranger.goto(link);
    await stranger.getByText('This link was opened before').waitFor();
    await stranger.goto(stage.origin);
    await stranger.reload();
    await stranger.getByRole('heading', { name: 'The page needs a new link' }).waitFor();
    expect(await stranger.getByRole('navigation').count()).toBe(0);
    await stranger.context().close();
  });

  it('shows how a container died when its bar is clicked at, with all text as text', async () => {
    const { page } = stage;
    await enter();
    await page.getByText('1 restart ·').waitFor();
    const canvas = page.locator('canvas');
    const { x, width } = (await canvas.boundingBox())!;
    const row = (await page.getByRole('button', { name: /^web/ }).boundingBox())!;
    // The window is a quarter of an hour, now is at 97 %; the bar ended five minutes ago.
    await page.mouse.click(x + width * (0.97 - 6 / 15), row.y + row.height / 2);
    const details = page.getByRole('complementary', { name: 'Details' });
    await details.getByRole('heading', { name: 'Container ended: exit 137 OOMKilled' }).waitFor();
    await details.getByText(HOSTILE).first().waitFor();
    const address = await details.getByRole('link', { name: 'Log at this moment' }).getAttribute('href');
    expect(address).toMatch(/^#\/pods\/default\/web\/logs\?container=main&at=\d+$/);
  });

  it('zooms in on what is below the pointer, and follows on where that is now', async () => {
    const { page } = stage;
    await enter();
    await page.getByText('1 restart ·').waitFor();
    const { x, width } = (await page.locator('canvas').boundingBox())!;
    const row = (await page.getByRole('button', { name: /^web/ }).boundingBox())!;
    const y = row.y + row.height / 2;
    const live = page.getByRole('button', { name: 'Live' });
    const zoomIn = async (): Promise<void> => {
      await page.keyboard.down('Control');
      await page.mouse.wheel(0, -400);
      await page.keyboard.up('Control');
    };
    await page.mouse.move(x + width * 0.96, y);
    await zoomIn();
    await page.getByText(/warnings? in 6m/).waitFor();
    expect(await live.getAttribute('aria-pressed')).toBe('true');
    await page.getByRole('button', { name: '15m', exact: true }).click();
    // The container died five minutes ago.
    await page.mouse.move(x + width * (0.97 - 5 / 15), y);
    await zoomIn();
    await page.getByText(/warnings? in 6m/).waitFor();
    expect(await live.getAttribute('aria-pressed')).toBe('false');
    await page.mouse.click(x + width * (0.97 - 5 / 15), y);
    const details = page.getByRole('complementary', { name: 'Details' });
    await details.getByText('ContainerDied').first().waitFor();
  });

  it('is used with the keyboard alone', async () => {
    const { page } = stage;
    await enter();
    await page.getByRole('application').focus();
    for (const key of ['ArrowDown', 'ArrowDown', 'ArrowDown']) await page.keyboard.press(key);
    await page.getByRole('complementary').getByRole('heading', { name: 'web' }).waitFor();
    await page.keyboard.press(']');
    await page.getByRole('heading', { name: /^Container/ }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('complementary').waitFor({ state: 'detached' });
    await page.keyboard.press('-');
    await page.keyboard.press('2');
    await page.getByRole('heading', { name: 'Pods' }).waitFor();
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys and meaning' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  });

  it('filters rows, and says so when none is left', async () => {
    const { page } = stage;
    await enter();
    await page.keyboard.press('/');
    await page.keyboard.type('idle');
    await page.getByRole('button', { name: /^web/ }).waitFor({ state: 'detached' });
    expect(await page.getByRole('button', { name: /^idle/ }).count()).toBe(1);
    await page.keyboard.type('nothing');
    await page.getByText('No pod matches.').waitFor();
  });

  it('has a log that is followed and searched, with all text as text', async () => {
    const { page } = stage;
    await enter();
    await page.goto(`${stage.origin}/#/pods/default/web/logs`);
    await page.getByText(HOSTILE).waitFor();
    await page.getByPlaceholder('Search in the log').fill('error');
    await page.locator('mark').first().waitFor();
    expect(await page.locator('mark').allTextContents()).toEqual(['error', 'Error']);
    await page.getByRole('button', { name: 'Only these' }).click();
    await page.getByText('first').waitFor({ state: 'detached' });
  });

  it('has the newest event first, whatever order they were recorded in, and a probe of the container that runs alone', async () => {
    const { page, agent } = stage;
    const began = new Date(Date.now() - 30_000).toISOString();
    const probe = { httpGet: { port: 80 } };
    agent.on('WATCH /api/v1/pods', (_, answer) => {
      const state = { running: { startedAt: began } };
      const status = { phase: 'Running', containerStatuses: [{ name: 'main', ready: true, state }] };
      const spec = { containers: [{ name: 'main', image: 'a', readinessProbe: probe }] };
      const object = { ...aKubePod('web', { status }), spec };
      answer.write(`${JSON.stringify({ type: 'ADDED', object })}\n`);
      answer.write(`${JSON.stringify({ type: 'BOOKMARK', object: { metadata: {} } })}\n`);
      return undefined;
    });
    await enter();
    following[0]!.write(record(90_000, 'event', 'Repeated', { message: 'of before' }));
    await page.goto(`${stage.origin}/#/pods/default/web/events`);
    await page.getByText('of before').waitFor();
    const times = await page.locator('.event-list time').allTextContents();
    expect(times).toEqual([...times].sort().reverse());
    await page.goto(`${stage.origin}/#/pods/default/web`);
    const card = page.getByRole('region', { name: 'main' });
    await card.getByText('GET http :80/').waitFor();
    expect(await card.getByText('Fails since').count()).toBe(0);
    following[0]!.write(record(0, 'probe', 'ReadinessFailed', { type: 'Warning', message: 'it is slow' }));
    await card.getByText('it is slow').waitFor();
  });

  it('shows names, labels, images and reasons that are markup as text, in every view', async () => {
    const { page, agent } = stage;
    const metadata = { name: HOSTILE, namespace: HOSTILE, uid: HOSTILE, labels: { [HOSTILE]: HOSTILE } };
    const waiting = { reason: HOSTILE, message: HOSTILE };
    const container = { name: HOSTILE, image: HOSTILE, ready: false, state: { waiting } };
    const conditions = [{ type: HOSTILE, status: 'False', message: HOSTILE }];
    const pod = {
      metadata,
      spec: { containers: [{ name: HOSTILE, image: HOSTILE }], volumes: [{ name: HOSTILE, hostPath: {} }] },
      status: { phase: 'Running', conditions, containerStatuses: [container], podIP: HOSTILE },
    };
    agent.on('WATCH /api/v1/pods', (_, answer) => {
      answer.write(`${JSON.stringify({ type: 'ADDED', object: pod })}\n`);
      answer.write(`${JSON.stringify({ type: 'BOOKMARK', object: { metadata: {} } })}\n`);
      return undefined;
    });
    agent.on('GET /agent', () => ({
      ...{ kind: 'Agent', nodeName: HOSTILE, version: HOSTILE, problems: [HOSTILE], manifests: [HOSTILE] },
      runtime: { name: HOSTILE, version: HOSTILE },
    }));
    agent.on('GET /incidents', () => ({
      items: [
        {
          ...{ id: 1, state: HOSTILE, beganAt: new Date().toISOString(), gaps: [HOSTILE] },
          findings: [{ code: HOSTILE, severity: HOSTILE, message: HOSTILE, remedy: HOSTILE, follows: [] }],
        },
      ],
    }));
    agent.on('GET /stopped', () => ({ items: [{ metadata }] }));
    await enter();
    following[0]!.write(record(0, HOSTILE, HOSTILE, { pod: metadata, container: HOSTILE, message: HOSTILE }));
    const address = encodeURIComponent(HOSTILE);
    const ofPod = ['', '/logs', '/events', '/manifest', '/terminal'].map(
      (tab) => `pods/${address}/${address}${tab}`,
    );
    for (const view of ['timeline', 'pods', ...ofPod, 'node', 'generator', 'doctor', 'doctor/1']) {
      await page.goto(`${stage.origin}/#/${view}`);
      await page.getByText(HOSTILE).first().waitFor();
      expect(await page.locator('img, main script, main style').count(), view).toBe(0);
    }
    // The server lets nobody ask for the log of a pod whose name can be none.
    const others = stage.complaints.splice(0).filter((each) => !/^WebSocket .*\/log\?/.test(each));
    expect(others).toEqual([]);
  });

  it('says that it is loading, and then that there is nothing', async () => {
    const { page, agent } = stage;
    agent.on('GET /events', (_, answer) => void following.push(answer));
    const watchers: ServerResponse[] = [];
    agent.on('WATCH /api/v1/pods', (_, answer) => void watchers.push(answer));
    await page.goto(stage.server.makeLink());
    await page.getByText('Reading the history…').waitFor();
    expect(await page.getByRole('status').first().textContent()).toBe('Loading');
    await page.goto(`${stage.origin}/#/pods`);
    await page.getByText('Reading the pods…').waitFor();
    await expect.poll(() => watchers.length).toBe(1);
    watchers[0]!.write(`${JSON.stringify({ type: 'BOOKMARK', object: { metadata: {} } })}\n`);
    await page.getByText('There are no pods on this node.').waitFor();
    await page.goto(`${stage.origin}/#/timeline`);
    await expect.poll(() => following.length).toBe(1);
    following[0]!.write(':\n\n');
    await page.getByText('No pods yet.').waitFor();
    await page.goto(`${stage.origin}/#/nowhere`);
    await page.getByRole('heading', { name: 'There is no such page' }).waitFor();
  });

  it('has a manifest, a node, a generator and a doctor, also before an agent that lacks some of it', async () => {
    const { page } = stage;
    await enter();
    await page.goto(`${stage.origin}/#/pods/default/web/manifest`);
    await page.getByText('phase: Running').waitFor();
    await page.getByText(String.raw`note: a\u202Eb`).waitFor();
    await page.goto(`${stage.origin}/#/node`);
    await page.getByText('This is an observer').waitFor();
    await page.goto(`${stage.origin}/#/generator`);
    await page.getByText('It cannot be read').waitFor();
    await page.goto(`${stage.origin}/#/doctor`);
    await page.getByText('Nothing is wrong with this node.').waitFor();
    await page.goto(`${stage.origin}/#/pods/default/none`);
    await page.getByText('Gone').waitFor();
  });

  it('says that the agent is gone, and goes on by itself when it is back', async () => {
    const { page } = stage;
    await enter();
    const asked = stage.agent.requests.length;
    for (const answer of following) answer.destroy();
    await page.getByRole('alert').getByText('Disconnected.').waitFor();
    await page.getByText('Connected', { exact: true }).waitFor();
    const since = stage.agent.requests.slice(asked);
    expect(since.some(({ query }) => query['after'] !== undefined)).toBe(true);
    following.at(-1)!.write(record(0, 'event', 'BackOff', { type: 'Warning', message: 'back again' }));
    await page.goto(`${stage.origin}/#/pods/default/web/events`);
    await page.getByText('back again').waitFor();
  });

  it('restarts a pod once somebody has said yes', async () => {
    const { page, agent } = stage;
    agent.on('POST /api/v1/namespaces/default/pods/web/restart', () => aKubePod('web'));
    await enter();
    await page.goto(`${stage.origin}/#/pods/default/web`);
    await page.getByRole('button', { name: 'Restart', exact: true }).click();
    const dialog = page.getByRole('alertdialog');
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    expect(agent.requests.some(({ method }) => method === 'POST')).toBe(false);
    await page.getByRole('button', { name: 'Restart', exact: true }).click();
    await dialog.getByRole('button', { name: 'Restart', exact: true }).click();
    await page.getByText('It is being restarted.').waitFor();
    expect(agent.requests.filter(({ method }) => method === 'POST')).toHaveLength(1);
  });

  it('names the node that an observer watches, its runtime and its version', async () => {
    const { page, agent } = stage;
    agent.on('GET /agent', (_, answer) => void answer.writeHead(404).end('{}'));
    agent.on('GET /version', () => ({ gitVersion: 'podloop v8.1' }));
    agent.on('GET /debug/pleg', () => ({
      ...{ atMs: Date.now(), forMs: 300_000, runtime: { name: 'containerd', version: '2.1.9' } },
    }));
    await enter();
    const top = page.getByRole('banner');
    await top.getByText('machine-7').waitFor();
    await top.getByText('observed, containerd 2.1.9').waitFor();
    await page.getByText('The agent is podloop 8.1, and this page is of 9').waitFor();
    await page.goto(`${stage.origin}/#/node`);
    const card = page.getByRole('region', { name: 'Observer' });
    await card.getByText('5m ago').waitFor();
    expect(await card.textContent()).not.toContain('–');
  });

  it('warns of an agent of another version', async () => {
    stage.agent.on('GET /agent', () => ({ kind: 'Agent', version: '10' }));
    await enter();
    await stage.page.getByText('The agent is podloop 10, and this page is of 9').waitFor();
  });

  it.each([
    ['dark', 1360, 800],
    ['light', 1360, 800],
    ['light', 390, 780],
  ] as const)('fits a %s window of %d by %d', async (colorScheme, width, height) => {
    const { page } = stage;
    await page.setViewportSize({ width, height });
    await page.emulateMedia({ colorScheme });
    await enter();
    const ofPod = ['', '/logs', '/events', '/manifest', '/terminal'].map((tab) => `pods/default/web${tab}`);
    for (const view of ['timeline', 'pods', ...ofPod, 'node', 'generator', 'doctor']) {
      await page.goto(`${stage.origin}/#/${view}`);
      await page.locator('main > *').first().waitFor();
      const wide = await page.evaluate(
        '[document.documentElement, document.querySelector("main")].some(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)',
      );
      expect(`${view}: ${wide ? 'scrolls' : 'fits'}`).toBe(`${view}: fits`);
    }
  });
});
