import { once } from 'node:events';
import { type Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type WebSocket } from 'ws';
import { aKubePod } from '#support/harness/agent-command-harness.js';
import { BROWSER, bundleFiles, launchBrowser, PageStage } from './page-stage.js';

const EXEC = '/api/v1/namespaces/default/pods/web/exec';
/** Channels of the protocol of commands. */
const [STDIN, STDOUT, ERROR, RESIZE] = [0, 1, 3, 4];
const FAILED = JSON.stringify({
  ...{ status: 'Failure', reason: 'NonZeroExitCode', message: 'command terminated with exit code 7' },
  details: { causes: [{ reason: 'ExitCode', message: '7' }] },
});
/** What a container may print to take over the page, or to draw outside of its policy. */
const HOSTILE = [
  `<img src=x onerror="document.title='taken'"><script>document.title='taken'</script>`,
  '\u001b]0;taken\u0007\u001b]2;taken\u0007',
  '\u001b]8;;javascript:document.title="taken"\u0007a link\u001b]8;;\u0007',
  '\u001b[38;2;1;200;3m\u001b[48;2;20;0;0mcolours of its own\u001b[0m \u001b[4:3m\u001b[58;2;1;2;3mwaves\u001b[0m',
  '\u001b[?1000h\u001b[?1006h\u001b]52;c;dGFrZW4=\u0007\u001b[21t\u001b[>q',
].join('\r\n');
/** As a browser does for Ctrl-V. */
const PASTE = `{
  const clipboardData = new DataTransfer();
  clipboardData.setData('text/plain', 'grüße');
  document.activeElement.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true }));
}`;

let files: ReadonlyMap<string, Buffer>;
let browser: Browser;
let stage: PageStage;
let canWrite: boolean;
/** The container's side of each command. */
let commands: WebSocket[];
/** What came there, as its channel and its text. */
let received: string[];

describe.skipIf(BROWSER === undefined)('a terminal on the page (needs chromium)', () => {
  beforeAll(async () => {
    files = await bundleFiles();
    browser = await launchBrowser();
  });

  afterAll(() => browser.close());

  const open = async (): Promise<void> => {
    stage = await PageStage.open(files, browser, { canWrite });
    [commands, received] = [[], []];
    const { agent } = stage;
    agent.on('GET /events', (_, answer) => {
      answer.setHeader('content-type', 'text/event-stream');
      answer.write(':\n\n');
      return undefined;
    });
    agent.on('WATCH /api/v1/pods', (_, answer) => {
      answer.write(`${JSON.stringify({ type: 'ADDED', object: aKubePod('web') })}\n`);
      answer.write(`${JSON.stringify({ type: 'BOOKMARK', object: { metadata: {} } })}\n`);
      return undefined;
    });
    agent.onSocket(EXEC, (socket) => {
      commands.push(socket);
      socket.on('message', (data: Buffer) => received.push(`${data[0]} ${data.subarray(1).toString()}`));
    });
    await stage.page.goto(stage.server.makeLink());
    await stage.page.getByText('Connected').waitFor();
    await stage.page.goto(`${stage.origin}/#/pods/default/web/terminal`);
  };

  beforeEach(async () => {
    canWrite = true;
    await open();
  });

  afterEach(async () => {
    expect(stage.complaints).toEqual([]);
    expect(await stage.page.title()).not.toBe('taken');
    await stage[Symbol.asyncDispose]();
  });

  /** The container's side of the terminal that the button opens. */
  const openTerminal = async (): Promise<WebSocket> => {
    const before = commands.length;
    await stage.page.getByRole('button', { name: 'Open a terminal' }).click();
    await expect.poll(() => commands.length).toBe(before + 1);
    await stage.page.getByText('Connected.').waitFor();
    return commands.at(-1)!;
  };
  const print = (command: WebSocket, text: string): void =>
    command.send(Buffer.concat([Buffer.of(STDOUT), Buffer.from(text)]));
  const screen = () => stage.page.locator('.xterm-accessibility-tree');
  const typed = (): string =>
    received
      .filter((each) => each.startsWith(`${STDIN} `))
      .map((each) => each.slice(2))
      .join('');
  const sizes = (): { Width: number; Height: number }[] =>
    received
      .filter((each) => each.startsWith(`${RESIZE} `))
      .map((each) => JSON.parse(each.slice(2)) as { Width: number; Height: number });

  it('loads its script when it is opened, hands on what is typed and its size, and shows what is printed', async () => {
    const { page, agent } = stage;
    const loaded: string[] = [];
    page.on('request', (request) => loaded.push(new URL(request.url()).pathname));
    await page.getByLabel('Command').fill('sh -i');
    expect(loaded).not.toContain('/terminal.js');
    const command = await openTerminal();
    expect(loaded).toContain('/terminal.js');
    const { query } = agent.requests.find(({ path }) => path === EXEC)!;
    expect(query).toMatchObject({ container: 'main', command: '-i', tty: 'true', stdin: 'true' });
    await expect.poll(() => sizes().length).toBeGreaterThan(0);
    const [first] = sizes();
    expect(first!.Width).toBeGreaterThan(60);
    expect(first!.Height).toBeGreaterThan(10);
    print(command, 'a prompt $ ');
    await screen().getByText('a prompt $').waitFor();
    await page.keyboard.type('echo ');
    await page.evaluate(PASTE);
    await page.keyboard.press('Enter');
    await page.keyboard.press('Control+c');
    await expect.poll(typed).toBe('echo grüße\r\u0003');
    await page.setViewportSize({ width: 700, height: 500 });
    await expect.poll(() => sizes().at(-1)!.Width).toBeLessThan(first!.Width);
    // Tab is the program's; with Shift it leads out.
    await page.keyboard.press('Tab');
    await expect.poll(typed).toBe('echo grüße\r\u0003\t');
    await page.keyboard.press('Shift+Tab');
    expect(await page.evaluate('document.activeElement.closest(".terminal-box") === null')).toBe(true);
  });

  it('says how its command ended, and that its container has gone', async () => {
    const { page } = stage;
    const first = await openTerminal();
    print(first, 'some output');
    first.send(Buffer.concat([Buffer.of(ERROR), Buffer.from(FAILED)]));
    await page.getByText('The command has ended with exit code 7.').waitFor();
    // What it printed can still be read.
    await screen().getByText('some output').waitFor();
    const second = await openTerminal();
    expect(await screen().getByText('some output').count()).toBe(0);
    second.terminate();
    await page.getByText('The connection to the container has ended.').waitFor();
    await page.getByRole('button', { name: 'Open a terminal' }).waitFor();
  });

  it('ends its command when it is closed and when its tab is left', async () => {
    const { page } = stage;
    const ended = once(await openTerminal(), 'close');
    await page.getByRole('button', { name: 'Close' }).click();
    await ended;
    const left = once(await openTerminal(), 'close');
    await page.getByRole('link', { name: 'Manifest' }).click();
    await left;
  });

  it('shows hostile output as text, and lets it take over nothing', async () => {
    const { page } = stage;
    const command = await openTerminal();
    print(command, `${HOSTILE}\r\nthe end`);
    await screen().getByText('the end').waitFor();
    await screen().getByText(`<img src=x onerror="document.title='taken'">`).waitFor();
    expect(await page.locator('img, .terminal-box script, style, .terminal-box a').count()).toBe(0);
    // Colours of its own are there, although no style may stand in markup.
    const colour = await page.evaluate(
      `getComputedStyle([...document.querySelectorAll('.xterm-rows span')].find(({ textContent }) => textContent.includes('colours'))).backgroundColor`,
    );
    expect(colour).toBe('rgb(20, 0, 0)');
    await page.getByText('a link').first().click({ force: true });
    expect(page.context().pages()).toHaveLength(1);
  });

  it('says why there is none', async () => {
    const { page, agent } = stage;
    agent.onSocket(EXEC, undefined);
    await page.getByRole('button', { name: 'Open a terminal' }).click();
    await page.getByText('not found').waitFor();
    expect(commands).toEqual([]);
  });

  it('is refused on a page that only reads, which says so', async () => {
    await stage[Symbol.asyncDispose]();
    canWrite = false;
    await open();
    const { page } = stage;
    await page.getByText('This page only reads.').waitFor();
    expect(await page.getByRole('link', { name: 'Terminal' }).count()).toBe(0);
    const outcome = await page.evaluate(`new Promise((resolve) => {
      const token = 'podloop.token.' + localStorage.getItem('podloop-token');
      const socket = new WebSocket('ws://' + location.host + '/terminal${EXEC}?command=sh', ['podloop.v1', token]);
      socket.onopen = () => resolve('opened');
      socket.onclose = () => resolve('refused');
    })`);
    expect(outcome).toBe('refused');
    expect(stage.agent.requests.filter(({ path }) => path === EXEC)).toEqual([]);
    // The browser has complained of the refusal.
    stage.complaints.splice(0);
  });
});
