/**
 * The page of an agent that runs pods, by the built program: what the other tests have in front of a server that a test
 * answers for.
 *
 * @module
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findFreePort } from '#support/clients/tcp-client.js';
import { patiently } from '#support/patience.js';
import { PodloopProcess, runPodloop } from '../podloop-process.js';
import { untilNobodyNames } from '../processes-naming.js';
import { BROWSER, launchBrowser } from './page-stage.js';

const TEST = { timeout: patiently(180_000) };
const POLL = { timeout: patiently(45_000) };
const STAY = 'trap "exit 0" TERM; while :; do sleep 0.2; done';

describe.skipIf(BROWSER === undefined)('the page of a running agent (needs chromium)', () => {
  let folder: string;
  let browser: Browser;
  let agent: PodloopProcess;
  let server: PodloopProcess;
  let page: Page;
  let origin: string;
  /** Of the agent, with TLS. */
  let port: number;

  const startAgent = async (): Promise<void> => {
    const place = ['--root-dir', join(folder, 'node'), '--pod-logs-dir', join(folder, 'logs')];
    const runtime = ['--runtime-endpoint', 'embedded', '--isolation', 'none', '--network', 'host'];
    const ports = ['--read-only-port', '0', '--healthz-port', '0', '--port', String(port)];
    const own = ['--node-name', 'n1', ...ports, '--token-auth-file', join(folder, 'tokens'), '--stop-pods'];
    agent = new PodloopProcess(['run', join(folder, 'manifests'), ...place, ...runtime, ...own]);
    await agent.line('stderr', /"Started node agent"/);
  };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'podloop-agent-page-'));
    port = await findFreePort();
    await writeFile(join(folder, 'tokens'), 'a-t0ken,ops,1\n', { mode: 0o600 });
    await writeFile(join(folder, 'token'), 'a-t0ken\n');
    await writeFile(join(folder, 'wrong'), 'guessed\n');
    await mkdir(join(folder, 'manifests'));
    const container = { name: 'main', image: 'podloop.local/host', command: ['sh', '-c', STAY] };
    const spec = { terminationGracePeriodSeconds: 1, containers: [container] };
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' }, spec };
    await writeFile(join(folder, 'manifests/web.json'), JSON.stringify(pod));
    await startAgent();
    const socket = join(folder, 'node/podloop.sock');
    server = new PodloopProcess(['web', '--write', '--port', '0', '--socket', socket]);
    const link = (await server.line('stdout', /#key=/)).trim();
    ({ origin } = new URL(link));
    browser = await launchBrowser();
    page = await browser.newPage({ viewport: { width: 1360, height: 800 } });
    page.setDefaultTimeout(POLL.timeout);
    await page.goto(link);
    await page.getByText('Connected', { exact: true }).waitFor();
  }, patiently(200_000));

  afterAll(async () => {
    await browser.close();
    await server[Symbol.asyncDispose]();
    await agent.end('SIGTERM');
    await untilNobodyNames(folder);
    await rm(folder, { recursive: true });
  }, patiently(120_000));

  it('runs a shell that is typed to and resized, and the history says that it was run', TEST, async () => {
    await page.goto(`${origin}/#/pods/default/web-n1/terminal`);
    await page.getByRole('button', { name: 'Open a terminal' }).click();
    await page.getByText('Connected.').waitFor();
    const screen = page.locator('.xterm-accessibility-tree');
    const sizes = async (): Promise<string[]> =>
      [...((await screen.textContent()) ?? '').matchAll(/size (\d+ \d+)/g)].map(([, size]) => size!);
    await page.keyboard.type('echo "size" $(stty size)');
    await page.keyboard.press('Enter');
    await expect.poll(sizes, POLL).toHaveLength(1);
    const columnsOf = (size = '0 0'): number => Number(size.split(' ')[1]);
    const before = columnsOf((await sizes())[0]);
    expect(before).toBeGreaterThan(100);
    await page.setViewportSize({ width: 800, height: 620 });
    await expect
      .poll(async () => {
        // The new size takes a moment to get there.
        await page.keyboard.type('echo "size" $(stty size)');
        await page.keyboard.press('Enter');
        return columnsOf((await sizes()).at(-1));
      }, POLL)
      .toBeLessThan(before);
    await page.keyboard.type('exit 5');
    await page.keyboard.press('Enter');
    await page.getByText('The command has ended with exit code 5.').waitFor();
    await page.getByRole('link', { name: 'Events' }).click();
    const record = page.locator('.event-list li', { hasText: 'ExecRequested' });
    await record.getByText('web asked to run a command in pod default/web-n1').waitFor();
    const socket = join(folder, 'node/podloop.sock');
    const { stdout } = await runPodloop(['events', '-A', '--kinds', 'agent', '--socket', socket]);
    expect(stdout).toContain('ExecRequested');
    expect(stdout).not.toContain('stty');
  });

  it('says when the agent was killed, and goes on when it is back', TEST, async () => {
    await page.goto(`${origin}/#/timeline`);
    await agent.end('SIGKILL');
    await page.getByRole('alert').getByText('Disconnected.').waitFor();
    await startAgent();
    await page.getByText('Connected', { exact: true }).waitFor();
    await page.getByRole('alert').waitFor({ state: 'detached' });
    await page.goto(`${origin}/#/pods`);
    const row = page.getByRole('row', { name: /web-n1/ });
    await row.getByText('Running').waitFor();
    await page.goto(`${origin}/#/timeline`);
    await page.getByRole('button', { name: /^Node and runtime/ }).click();
    const details = page.getByRole('complementary', { name: 'Details' });
    await expect.poll(async () => await details.getByText('AgentStarted').count(), POLL).toBe(2);
  });

  it('shows an agent behind TLS, to those whom its port lets in', TEST, async () => {
    const authority = ['--certificate-authority', join(folder, 'node/pki/podloop.crt')];
    const server = ['web', '--server', `https://127.0.0.1:${port}`, '--port', '0', '--write'];
    const refused = await runPodloop([...server, ...authority, '--token-file', join(folder, 'wrong')]);
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toMatch(/Unauthorized/);
    const untrusted = await runPodloop([...server, '--token-file', join(folder, 'token')]);
    expect(untrusted.stderr).toMatch(/cannot reach the agent at https:.*--certificate-authority/);
    await using remote = new PodloopProcess([...server, ...authority, '--token-file', join(folder, 'token')]);
    const link = (await remote.line('stdout', /#key=/)).trim();
    const visitor = await browser.newPage();
    visitor.setDefaultTimeout(POLL.timeout);
    await visitor.goto(link);
    await visitor.getByText('Connected', { exact: true }).waitFor();
    await visitor.goto(`${new URL(link).origin}/#/pods/default/web-n1/terminal`);
    await visitor.getByRole('button', { name: 'Open a terminal' }).click();
    await visitor.getByText('Connected.').waitFor();
    await visitor.keyboard.type('echo over" "TLS');
    await visitor.keyboard.press('Enter');
    await visitor.locator('.xterm-accessibility-tree').getByText('over TLS').waitFor();
    await visitor.goto(`${new URL(link).origin}/#/doctor`);
    await visitor.getByText('run podloop doctor there').waitFor();
    await visitor.close();
    // Ctrl-C is how a page is ended.
    expect(await remote.end('SIGINT')).toEqual({ code: 0, signal: null });
  });
});
