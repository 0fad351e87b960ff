import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Browser, chromium, type Page } from 'playwright-core';
import { SystemClock } from '#base/time/clock.js';
import { findBrowser } from '#support/clients/find-browser.js';
import { FakeAgentServer } from '#support/fakes/fake-agent-server.js';
import { AgentContent } from '../../../src/cli/shared/page/agent-content.js';
import { PageFiles } from '../../../src/cli/shared/page/page-files.js';
import { PageServer } from '../../../src/cli/shared/page/page-server.js';
import { RecordedContent } from '../../../src/cli/shared/page/recorded-content.js';
import { type RecordedTimeline } from '#kube/node/recorded-timeline.js';
import { AgentClient } from '../../../src/cli/shared/api/agent-client.js';

/** The browser of this machine; undefined if there is none. */
export const BROWSER = findBrowser();

// It is no part of the sources, so it has no types.
const script = new URL('../../../scripts/bundle-page.mjs', import.meta.url).href;

/** The files of the page as they are now, compressed. */
export async function bundleFiles(): Promise<ReadonlyMap<string, Buffer>> {
  const { bundlePage } = (await import(script)) as {
    bundlePage: () => Promise<{ files: ReadonlyMap<string, Buffer> }>;
  };
  return (await bundlePage()).files;
}

/** Starts {@link BROWSER}; close it at the end. */
export function launchBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: BROWSER!, args: ['--no-sandbox'] });
}

/** As a runtime lists them. */
const IMAGES = [
  { id: 'sha256:0a', repoTags: ['registry.example/shop/web:1.4.2'], repoDigests: [], size: '187400000' },
  { id: 'sha256:0b', repoTags: ['docker.io/library/postgres:17'], repoDigests: [], size: '438100000' },
  { id: 'sha256:0c', repoTags: [], repoDigests: ['registry.example/shop/jobs@sha256:0c'], size: '9200000' },
];

/** What {@link PageStage} shows. */
export interface PageStageOptions {
  /** In place of the agent. */
  readonly recorded?: RecordedTimeline;
  /** As with --write (default: true). */
  readonly canWrite?: boolean;
}

/** The page in a browser, before an agent whose answers a test gives. */
export class PageStage implements AsyncDisposable {
  private constructor(
    readonly agent: FakeAgentServer,
    public server: PageServer,
    readonly page: Page,
    /** What the browser has complained of: scripts that were blocked, errors that nobody caught. */
    readonly complaints: string[],
    readonly origin: string,
    readonly makeServer: () => PageServer,
    readonly end: () => Promise<void>,
  ) {}

  /** With the files of the page, compressed. */
  static async open(
    files: ReadonlyMap<string, Buffer>,
    browser: Browser,
    { recorded, canWrite = true }: PageStageOptions = {},
  ): Promise<PageStage> {
    const agent = await FakeAgentServer.start();
    const folder = await mkdtemp(join(tmpdir(), 'podloop-page-'));
    for (const [name, bytes] of files) await writeFile(join(folder, name), bytes);
    const ending = new AbortController();
    const clock = new SystemClock();
    const client = new AgentClient({ socketPath: agent.socketPath, clock, signal: ending.signal });
    const examine = async (): Promise<string> =>
      JSON.stringify({ time: new Date().toISOString(), findings: [] });
    const listImages = async (): Promise<string> => JSON.stringify({ images: IMAGES });
    const makeServer = (): PageServer =>
      new PageServer({
        ...{ clock, files: new PageFiles(pathToFileURL(`${folder}/`)), version: '9' },
        content:
          recorded === undefined
            ? new AgentContent({ client, canWrite, examine, listImages, machine: 'machine-7' })
            : new RecordedContent(recorded),
        onRefusedLink: () => undefined,
      });
    const server = makeServer();
    const port = await server.listen(0);
    const context = await browser.newContext();
    const page = await context.newPage();
    const complaints: string[] = [];
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('console', (message) => {
      if (message.type() === 'error' && !message.text().includes('status of 40'))
        complaints.push(message.text());
    });
    const end = async (): Promise<void> => {
      await context.close();
      ending.abort();
      await stage.server[Symbol.asyncDispose]();
      await agent[Symbol.asyncDispose]();
      await rm(folder, { recursive: true });
    };
    const origin = `http://127.0.0.1:${port}`;
    const stage: PageStage = new PageStage(agent, server, page, complaints, origin, makeServer, end);
    return stage;
  }

  /** As when `podloop web` is ended and started again: at the same port, with no session. */
  async restartServer(): Promise<void> {
    await this.server[Symbol.asyncDispose]();
    this.server = this.makeServer();
    await this.server.listen(Number(new URL(this.origin).port));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end();
  }
}
