import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Browser, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Measurements } from '#kube/node/recorded-timeline.js';
import { type Incident } from '#observe';
import { type RecordingEvent, type RecordingEvents } from '#proxy/record';
import { PageFiles } from '../../../src/cli/shared/page/page-files.js';
import { toStandalonePage } from '../../../src/cli/shared/page/standalone-page.js';
import { toIncidentPage, toRecordingPage } from '../../../src/cli/shared/page/recorded-page.js';
import { BROWSER, bundleFiles, launchBrowser, PageStage } from './page-stage.js';

const HOSTILE = `</script><img src=x onerror="document.title='taken'"><!--`;
const BEGIN_MS = Date.parse('2026-01-02T03:00:00.000Z');
const pod = { uid: 'uid-web', namespace: 'default', name: 'web' };
const at = (afterMs: number): string => new Date(BEGIN_MS + afterMs).toISOString();

function event(
  afterMs: number,
  kind: RecordingEvent['kind'],
  reason: string,
  more: Partial<RecordingEvent> = {},
): RecordingEvent {
  const atMs = BEGIN_MS + afterMs;
  return { atMs, kind, type: 'Normal', reason, message: '', pod, container: 'main', details: {}, ...more };
}

const life = { containerId: 'a', containerKind: 'container' };
const RECORDED: RecordingEvents = {
  ...{ startedAt: at(0), durationMs: 600_000, mode: 'relay', upstream: 'unix:///run/cri.sock' },
  ...{ end: 'cut-off', part: 0, lost: 0, leftOut: 0 },
  events: [
    event(60_000, 'lifecycle', 'ContainerStarted', { details: life }),
    event(300_000, 'lifecycle', 'ContainerDied', {
      ...{
        type: 'Warning',
        message: HOSTILE,
        details: { ...life, exitCode: 137, containerReason: 'OOMKilled' },
      },
    }),
    event(330_000, 'call', 'CallHangs', {
      ...{ type: 'Warning', message: HOSTILE, details: { method: 'ContainerStatus', forMs: 20_000 } },
    }),
  ],
};
const INCIDENT: Incident = {
  ...{ version: 1, id: 3, state: 'over', node: HOSTILE, podloop: '0.1.0' },
  runtime: { endpoint: 'unix:///run/cri.sock', name: 'containerd', version: '2.1.9' },
  ...{ beganAt: at(310_000), endedAt: at(500_000), recordedFrom: at(0), recurrences: [], gaps: [HOSTILE] },
  findings: [
    {
      ...{ key: 'k', code: 'CallHangs', severity: 'critical', spells: 1, follows: [], message: HOSTILE },
      ...{ evidence: [HOSTILE], remedy: 'wait', pod, beganAt: at(310_000), endedAt: at(500_000) },
    },
  ],
};

const MEASURED: Measurements = {
  timesMs: [BEGIN_MS, BEGIN_MS + 300_000, BEGIN_MS + 500_000],
  charts: [
    { title: 'Lists', unit: 'ms', lines: [{ label: 'longest', values: [4, 9_000, null] }] },
    {
      ...{ title: HOSTILE, unit: 'percent' },
      lines: [
        { label: 'for disks', values: [0, 12, 3] },
        { label: 'for memory', values: [0, 0, 0] },
      ],
    },
  ],
};

describe.skipIf(BROWSER === undefined)('the page of a recording (needs chromium)', () => {
  let browser: Browser;
  let files: ReadonlyMap<string, Buffer>;

  beforeAll(async () => {
    files = await bundleFiles();
    browser = await launchBrowser();
  });

  afterAll(() => browser.close());

  it('opens by its one-time link, goes to any moment, and shows the pods as they were then', async () => {
    await using stage = await PageStage.open(files, browser, {
      recorded: toRecordingPage('node.plrec', RECORDED),
    });
    const { page } = stage;
    const link = stage.server.makeLink();
    await page.goto(link);
    await page.getByText('The recording was cut off.').waitFor();
    expect(await page.title()).toBe('node.plrec – podloop');
    const moment = page.getByRole('slider', { name: 'Moment' });
    const row = page.getByRole('button', { name: /^web/ });
    await row.getByText('gone').waitFor();
    await moment.focus();
    await moment.fill(String(BEGIN_MS + 120_000));
    await row.locator('.dot.ok').waitFor();
    await page.keyboard.press('End');
    await row.locator('.dot.bad').waitFor();
    expect(await moment.getAttribute('aria-valuetext')).toMatch(/, 10m of 10m$/);
    await page.keyboard.press('Home');
    await page.getByRole('button', { name: 'Play' }).click();
    await expect.poll(() => moment.getAttribute('aria-valuetext')).not.toMatch(/, 0ms of 10m$/);
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByRole('button', { name: 'Play' }).waitFor();
    const stoppedAt = await moment.getAttribute('aria-valuetext');
    expect(await moment.getAttribute('aria-valuetext')).toBe(stoppedAt);
    expect(stage.complaints).toEqual([]);
    const stranger = await (await browser.newContext()).newPage();
    await stranger.goto(link);
    await stranger.getByText('This link was opened before').waitFor();
    await stranger.context().close();
  });

  it('shows what was clicked at, without ways to pages that are not there', async () => {
    await using stage = await PageStage.open(files, browser, {
      recorded: toRecordingPage('node.plrec', RECORDED),
    });
    const { page } = stage;
    await page.goto(stage.server.makeLink());
    const { x, width } = (await page.locator('.drawing canvas').boundingBox())!;
    const row = (await page.getByRole('button', { name: /^web/ }).boundingBox())!;
    // The window is the whole recording, with a fiftieth more at both ends.
    await page.mouse.click(x + width * ((0.2 + 0.02) / 1.04), row.y + row.height / 2);
    const details = page.getByRole('complementary', { name: 'Details' });
    await details.getByRole('heading', { name: 'Container ended: exit 137 OOMKilled' }).waitFor();
    await details.getByText(HOSTILE).first().waitFor();
    expect(await details.getByRole('link').count()).toBe(0);
    // The moment is where the pointer was.
    const said = await page.getByRole('slider', { name: 'Moment' }).getAttribute('aria-valuetext');
    expect(said).toMatch(/, (?:1m5\ds|2m|2m\ds) of 10m$/);
    expect(await page.title()).not.toBe('taken');
    expect(stage.complaints).toEqual([]);
  });

  it('has nothing of an agent', async () => {
    await using stage = await PageStage.open(files, browser, {
      recorded: toRecordingPage('node.plrec', RECORDED),
    });
    const { page } = stage;
    await page.goto(stage.server.makeLink());
    await page.getByRole('slider', { name: 'Moment' }).waitFor();
    const paths = ['/agent/agent', '/examination', '/agent/api/v1/pods'];
    const codes: unknown[] = [];
    for (const path of paths)
      codes.push(
        await page.evaluate(
          `fetch('${path}', { headers: { 'podloop-token': localStorage.getItem('podloop-token') } }).then(({ status }) => status)`,
        ),
      );
    expect(codes).toEqual([404, 404, 404]);
    expect(stage.agent.requests).toEqual([]);
  });

  it('is one file with an incident, which loads nothing and shows all text as text', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'podloop-page-'));
    const context = await browser.newContext();
    try {
      for (const [name, bytes] of files) await writeFile(join(folder, name), bytes);
      const path = join(folder, 'incident.html');
      const pageFiles = new PageFiles(pathToFileURL(`${folder}/`));
      await writeFile(
        path,
        await toStandalonePage(
          toIncidentPage(INCIDENT, { recorded: RECORDED, measured: MEASURED }),
          pageFiles,
        ),
      );
      const page = await context.newPage();
      const [complaints, requests] = watch(page);
      await page.goto(pathToFileURL(path).href);
      await page.getByRole('slider', { name: 'Moment' }).waitFor();
      await page.getByRole('button', { name: /^web/ }).locator('.dot.bad').waitFor();
      await page.getByRole('link', { name: 'Findings (1)' }).click();
      await page.getByRole('heading', { name: HOSTILE }).waitFor();
      expect(await page.getByText(HOSTILE).count()).toBeGreaterThan(2);
      await page.getByRole('link', { name: 'Measurements' }).click();
      await page.getByRole('img', { name: 'Lists: longest at most 9s' }).waitFor();
      await page.getByText('for disks at most 12%').waitFor();
      expect(await page.locator('img').count()).toBe(0);
      expect(await page.title()).toBe(`Incident 3 of ${HOSTILE} – podloop`);
      expect(requests.filter((url) => !url.startsWith('data:'))).toEqual([pathToFileURL(path).href]);
      expect(complaints).toEqual([]);
    } finally {
      await context.close();
      await rm(folder, { recursive: true });
    }
  });
});

/** What the browser complains of, and what it asks for. */
function watch(page: Page): [string[], string[]] {
  const [complaints, requests]: [string[], string[]] = [[], []];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
  page.on('request', (request) => requests.push(request.url()));
  return [complaints, requests];
}
