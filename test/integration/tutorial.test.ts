/**
 * The tutorial, walked as it is written: its manifests, its commands, what it says of their answers, and its pictures.
 *
 * `PODLOOP_PICTURES=1` draws these again. Before you commit tutorial-timeline.png, reduce it to 255 colours.
 *
 * @module
 */
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { patiently } from '#support/patience.js';
import { type PictureLine, wrapLine } from '#support/pictures/terminal-picture.js';
import { readText } from '../source-tree.js';
import { expectPicture } from './expect-picture.js';
import { BROWSER, launchBrowser } from './page/page-stage.js';
import { PodloopProcess, runPodloop } from './podloop-process.js';
import { untilNobodyNames } from './processes-naming.js';

/** Each command loads the whole program, which takes long on a busy machine. */
const LIMIT_MS = patiently(240_000);
const PAGE = readText('docs/guides/tutorial.md');

let folder: string;

beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'podloop-tutorial-')));
  await mkdir(join(folder, 'shop'));
});

afterEach(async () => {
  // What a failed test has left; it is no failure that there is nothing.
  await podloop('down', join(folder, 'shop'), '--root-dir', join(folder, 'root'), '--yes');
  await untilNobodyNames(folder);
  await rm(folder, { recursive: true });
}, LIMIT_MS);

const envOf = (): Record<string, string> => ({
  ...{ HOME: folder, PODLOOP_SOCKET: join(folder, 'root/podloop.sock') },
});
const podloop = (...args: string[]): ReturnType<typeof runPodloop> => runPodloop(args, { env: envOf() });

/** The manifests of the page, in its order. */
const MANIFESTS = [...PAGE.matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map(([, text]) => text!);
const put = (name: string, at: number): Promise<void> =>
  writeFile(join(folder, 'shop', name), MANIFESTS[at]!);

async function untilSaid(words: RegExp | string, ...args: string[]): Promise<void> {
  await vi.waitFor(async () => expect((await podloop(...args)).stdout).toMatch(words), {
    timeout: LIMIT_MS / 4,
    interval: 500,
  });
}

const COLUMNS = 100;
/** What stands out in the pictures: the first group of what matches. */
const STANDS_OUT = [
  { words: /(?<=^|\s)(CrashLoopBackOff|DOES NOT RUN)(?=\s|$)/, colour: 'red', isBold: true },
  { words: /(?<=\s)(Running)(?=\s)/, colour: 'green', isBold: false },
  { words: /^ +((?:since|evidence|what to do):)/, colour: 'grey', isBold: true },
] as const;

/** What a command printed, as lines of a picture. */
function toPicture(text: string): PictureLine[] {
  const lines = text.split('\n').flatMap((line) => wrapLine(line.trimEnd(), COLUMNS));
  return lines.map((line) => {
    const marks = STANDS_OUT.flatMap(({ words, colour, isBold }) => {
      const found = words.exec(line);
      if (found === null) return [];
      const begin = found.index + found[0].indexOf(found[1]!);
      return [{ begin, end: begin + found[1]!.length, colour, isBold }];
    });
    return { text: line, marks };
  });
}

/** The timeline, which a browser shows of the agent as `podloop web` serves it. */
async function takeTimeline(file: URL): Promise<void> {
  await using web = new PodloopProcess(['web', '--port', '0'], { env: envOf() });
  const link = /http:\S+/.exec(await web.line('stdout', /http:\S+#key=/))![0];
  const browser = await launchBrowser();
  try {
    const page = await browser.newPage({ viewport: { width: 1280, height: 400 }, colorScheme: 'dark' });
    await page.goto(link);
    await page.getByText('Connected', { exact: true }).waitFor();
    await page.goto(`${new URL(link).origin}/#/timeline`);
    await page.locator('main canvas').first().waitFor();
    // It follows what happens, a moment later.
    await page.waitForTimeout(5_000);
    await writeFile(file, await page.screenshot());
  } finally {
    await browser.close();
  }
}

it.runIf(process.getuid?.() === 0)(
  'leads from nothing to a crash that is understood and mended',
  async () => {
    expect(MANIFESTS).toHaveLength(3);
    await put('web.yaml', 0);
    const up = await podloop(
      ...['up', join(folder, 'shop'), '--runtime-endpoint', 'embedded', '--wait'],
      // Besides what the page says: nothing of this machine.
      ...['--root-dir', join(folder, 'root'), '--pod-logs-dir', join(folder, 'logs'), '--network', 'host'],
      ...['--container-log-links-dir', join(folder, 'links'), '--node-name', 'vm', '--read-only-port', '0'],
    );
    expect([up.code, up.stderr], up.stdout).toEqual([0, '']);
    expect(up.stdout).toContain('2/2 pods are ready');
    expect((await podloop('logs', 'deploy/web')).stdout).toContain('ready');

    await put('worker.yaml', 1);
    await untilSaid(/^worker-vm +0\/1 +CrashLoopBackOff +[12] /m, 'get', 'pods');
    await expectPicture({
      ...{ name: 'tutorial-pods', command: 'podloop get pods' },
      lines: toPicture((await podloop('get', 'pods')).stdout),
      rows: [/^NAME +READY +STATUS +RESTARTS +AGE$/m, /^web-\S+ +1\/1 +Running/m, /^worker-vm +0\/1 /m],
    });
    const why = await podloop('doctor', 'pod', 'worker');
    expect(why.code).toBe(1);
    expect(why.stdout).toMatch(/^DOES NOT RUN at back-off .*default\/worker-vm.* exit code 1 \(Error\)/);
    // Behind it stands who was asked.
    const [finding] = why.stdout.split(/^ *seen by /m);
    await expectPicture({
      ...{ name: 'tutorial-doctor', command: 'podloop doctor pod worker', lines: toPicture(finding!) },
      rows: [/^DOES NOT RUN at back-off/m, /what to do: See its last words: podloop logs --previous/],
    });
    if (process.env['PODLOOP_PICTURES'] !== undefined && BROWSER !== undefined)
      await takeTimeline(new URL('../../docs/images/tutorial-timeline.png', import.meta.url));
    const next = /what to do: See its last words: (podloop .*)\.$/m.exec(why.stdout)?.[1];
    const words = await podloop(...next!.split(' ').slice(1));
    expect(words.stdout).toContain('cat: /etc/shop/settings: No such file or directory');
    const events = await podloop('events', '--for', 'pod/worker');
    expect(events.stdout).toMatch(
      /ContainerDied +Pod\/worker-vm +Container main died with exit code 1: Error/,
    );
    const webs = (await podloop('get', 'pods', '-l', 'app=web')).stdout.replaceAll(/ \S+$/gm, '');

    await put('worker.yaml', 2);
    await untilSaid('every=5s', 'logs', 'worker');
    await untilSaid(/^worker-vm +1\/1 +Running /m, 'get', 'pods');
    const well = await podloop('doctor', 'pod', 'worker');
    expect([well.code, well.stdout]).toEqual([0, expect.stringMatching(/^RUNS /)]);
    expect((await podloop('blame', 'worker')).stdout).toMatch(
      /^TIME +AT +STEP +CONTAINER\n(?:.*\n)*.* start +main/,
    );
    expect((await podloop('get', 'pods', '-l', 'app=web')).stdout.replaceAll(/ \S+$/gm, '')).toBe(webs);

    const down = await podloop('down', join(folder, 'shop'), '--yes');
    expect([down.code, down.stdout]).toEqual([0, expect.stringMatching(/worker-vm ended[\s\S]*The agent/)]);
  },
  LIMIT_MS,
);
