import axe from 'axe-core';
import { type Browser, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Measurements } from '#kube/node/recorded-timeline.js';
import { toIncidentPage } from '../../../src/cli/shared/page/recorded-page.js';
import { BROWSER, bundleFiles, launchBrowser, PageStage } from './page-stage.js';
import { setScene } from './page-scene.js';

const VIEWS = [
  ...['timeline', 'pods', 'pods/default/web', 'pods/default/web/logs', 'pods/default/web/events'],
  ...[
    'pods/default/web/manifest',
    'pods/default/web/terminal',
    'pods/default/jobs',
    'pods/default/none',
    'node',
    'generator',
    'doctor',
  ],
  ...['doctor/1', 'nowhere'],
];
/** Axe reads every element of every view. */
const LIMIT_MS = 600_000;
const WINDOWS = [
  ['dark', 1360, 800],
  ['light', 1360, 800],
  ['dark', 390, 780],
  ['light', 390, 780],
] as const;

const MEASURED_AT_MS = Date.parse('2026-01-02T03:00:00.000Z');
const MEASURED: Measurements = {
  timesMs: Array.from({ length: 20 }, (_, at) => MEASURED_AT_MS + at * 5_000),
  charts: [
    {
      ...{ title: 'Lists of the runtime', unit: 'ms' },
      lines: [{ label: 'longest', values: Array.from({ length: 20 }, (_, at) => (at > 2 ? at * 900 : 4)) }],
    },
  ],
};

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly target: readonly unknown[]; readonly failureSummary?: string }[];
}

/** What axe finds wrong, a line for each place. */
async function examine(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate<{ readonly violations: readonly Violation[] }>(
    'axe.run(document, { resultTypes: ["violations"] })',
  );
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary = '' }) => `${id}: ${String(target)}: ${failureSummary}`),
  );
}

describe.skipIf(BROWSER === undefined)('everybody can use the page (needs chromium)', () => {
  let browser: Browser;
  let files: ReadonlyMap<string, Buffer>;

  beforeAll(async () => {
    files = await bundleFiles();
    browser = await launchBrowser();
  });

  afterAll(() => browser.close());

  it.each(WINDOWS)(
    'in a %s window of %d by %d, in every view',
    { timeout: LIMIT_MS },
    async (colorScheme, width, height) => {
      await using stage = await PageStage.open(files, browser);
      setScene(stage.agent);
      const { page } = stage;
      await page.setViewportSize({ width, height });
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      await page.goto(stage.server.makeLink());
      await page.getByText('Connected').waitFor();
      const found: string[] = [];
      for (const view of VIEWS) {
        await page.goto(`${stage.origin}/#/${view}`);
        await page.locator('main > *').first().waitFor();
        await page.waitForLoadState('networkidle');
        found.push(...(await examine(page)).map((line) => `${view}: ${line}`));
      }
      await page.goto(`${stage.origin}/#/timeline`);
      await page.getByRole('application').focus();
      for (const key of ['ArrowDown', 'ArrowDown', ']']) await page.keyboard.press(key);
      await page.getByRole('complementary', { name: 'Details' }).waitFor();
      found.push(...(await examine(page)).map((line) => `details: ${line}`));
      await page.keyboard.press('Escape');
      await page.keyboard.press('?');
      await page.getByRole('dialog').waitFor();
      found.push(...(await examine(page)).map((line) => `help: ${line}`));
      await page.keyboard.press('Escape');
      await page.getByTitle('List them').click();
      await page.getByRole('complementary', { name: 'Problems' }).waitFor();
      found.push(...(await examine(page)).map((line) => `problems: ${line}`));
      await stage.restartServer();
      await page.getByText('the session has ended').waitFor();
      found.push(...(await examine(page)).map((line) => `disconnected: ${line}`));
      const stranger = await (await browser.newContext({ colorScheme })).newPage();
      await stranger.goto(stage.origin);
      await stranger.getByRole('heading', { name: 'The page needs a new link' }).waitFor();
      found.push(...(await examine(stranger)).map((line) => `locked: ${line}`));
      await stranger.context().close();
      expect(found).toEqual([]);
    },
  );

  it.each(WINDOWS)(
    'in a %s window of %d by %d, a recording',
    { timeout: LIMIT_MS },
    async (colorScheme, width, height) => {
      const beganAt = '2026-01-02T03:00:10.000Z';
      const pod = { uid: 'u1', namespace: 'default', name: 'db' };
      const finding = {
        ...{ key: 'k', code: 'CallHangs', severity: 'critical' as const, spells: 1, follows: [] },
        ...{ message: 'a call hangs', evidence: ['for 100 s'], remedy: 'look at its shim', pod, beganAt },
      };
      const recorded = toIncidentPage(
        {
          ...{ version: 1, id: 3, state: 'over', node: 'n1', podloop: '0.1.0', findings: [finding] },
          runtime: { endpoint: 'unix:///r.sock', name: 'containerd', version: '2.1.9' },
          ...{ beganAt, endedAt: '2026-01-02T03:00:40.000Z', recordedFrom: '2026-01-02T03:00:00.000Z' },
          ...{ recurrences: [], gaps: ['the disk was full'] },
        },
        { measured: MEASURED },
      );
      await using stage = await PageStage.open(files, browser, { recorded });
      const { page } = stage;
      await page.setViewportSize({ width, height });
      await page.emulateMedia({ colorScheme });
      await page.goto(stage.server.makeLink());
      await page.getByRole('slider', { name: 'Moment' }).waitFor();
      const found = (await examine(page)).map((line) => `timeline: ${line}`);
      const wide = await page.evaluate('document.documentElement.scrollWidth > innerWidth');
      expect(wide).toBe(false);
      await page.getByRole('link', { name: 'Findings (1)' }).click();
      await page.getByRole('heading', { name: 'What was found' }).waitFor();
      found.push(...(await examine(page)).map((line) => `findings: ${line}`));
      await page.getByRole('link', { name: 'Measurements' }).click();
      await page.getByRole('heading', { name: 'What was measured' }).waitFor();
      found.push(...(await examine(page)).map((line) => `measurements: ${line}`));
      expect(found).toEqual([]);
    },
  );
});
