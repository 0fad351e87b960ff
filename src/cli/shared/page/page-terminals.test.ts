import { once } from 'node:events';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { FakeAgentServer } from '#support/fakes/fake-agent-server.js';
import { untilTrue } from '#support/until-true.js';
import { FakeClock } from '#testing/fake-clock.js';
import { AgentClient } from '../api/agent-client.js';
import { AgentContent } from './agent-content.js';
import { PageFiles } from './page-files.js';
import { PageServer } from './page-server.js';

const EXEC = '/api/v1/namespaces/default/pods/web/exec';
/** Of a message; 17 are more than may wait. */
const LARGE = 65_000;
const UNREAD = { code: 1009, reason: 'The command does not read what is typed.' };
const SUCCESS = JSON.stringify({ metadata: {}, status: 'Success' });

let agent: FakeAgentServer;
let server: PageServer;
let ending: AbortController;
let clock: FakeClock;
let origin: string;
/** The container's side of each command that was started. */
let commands: WebSocket[];

async function start(canWrite: boolean): Promise<void> {
  clock = new FakeClock();
  const client = new AgentClient({ socketPath: agent.socketPath, clock, signal: ending.signal });
  server = new PageServer({
    ...{ clock, files: new PageFiles(pathToFileURL('/nowhere/')), version: '9' },
    content: new AgentContent({ client, canWrite, examine: async () => '{}', listImages: async () => '{}' }),
    onRefusedLink: () => undefined,
  });
  origin = `http://127.0.0.1:${await server.listen(0)}`;
}

beforeEach(async () => {
  agent = await FakeAgentServer.start();
  ending = new AbortController();
  commands = [];
  agent.onSocket(EXEC, (socket) => void commands.push(socket));
});

afterEach(async () => {
  ending.abort();
  await server[Symbol.asyncDispose]();
  await agent[Symbol.asyncDispose]();
});

async function signIn(): Promise<{ cookie: string; token: string }> {
  const key = server.makeLink().split('#key=')[1]!;
  const opened = await fetch(`${origin}/session`, {
    ...{ method: 'POST', headers: { origin }, body: JSON.stringify({ key }) },
  });
  const { token } = (await opened.json()) as { token: string };
  return { cookie: opened.headers.get('set-cookie')!.split(';')[0]!, token };
}

interface Terminal {
  readonly socket: WebSocket;
  isConnected: boolean;
  printed: string;
  readonly closed: Promise<{ code: number; reason: string }>;
}

async function open(
  query = 'command=sh&container=main',
  onOpen: (socket: WebSocket) => void = () => undefined,
): Promise<Terminal | number> {
  const { cookie, token } = await signIn();
  const socket = new WebSocket(
    `${origin.replace('http', 'ws')}/terminal${EXEC}?${query}`,
    ['podloop.v1', `podloop.token.${token}`],
    { headers: { cookie, origin } },
  );
  const closed = new Promise<{ code: number; reason: string }>((resolve) =>
    socket.on('close', (code, reason) => resolve({ code, reason: reason.toString() })),
  );
  const terminal: Terminal = { socket, isConnected: false, printed: '', closed };
  socket.on('message', (data: Buffer, isBinary) => {
    if (isBinary) terminal.printed += data.toString();
    else terminal.isConnected = data.toString() === 'connected';
  });
  socket.on('error', () => undefined);
  socket.once('open', () => onOpen(socket));
  const refused = new Promise<number>((resolve) =>
    socket.on('unexpected-response', (_, answer) => {
      resolve(answer.statusCode ?? 0);
      socket.terminate();
    }),
  );
  return await Promise.race([once(socket, 'open').then(() => terminal), refused]);
}

const typed = (text: string): Buffer => Buffer.concat([Buffer.of(0), Buffer.from(text)]);
const drawn = (bytes: unknown): Buffer => Buffer.concat([Buffer.of(2), Buffer.from(String(bytes))]);
const sized = (columns: unknown, rows: unknown): Buffer =>
  Buffer.concat([Buffer.of(1), Buffer.from(JSON.stringify({ columns, rows }))]);

describe('a terminal of the page with --write', () => {
  beforeEach(() => start(true));

  it('hands on what is typed, its size, and what the command prints, up to how it ended', async () => {
    const terminal = (await open()) as Terminal;
    terminal.socket.send(sized(80, 24));
    terminal.socket.send(typed('date\r'));
    await untilTrue(() => commands.length === 1);
    const [command] = commands as [WebSocket];
    const got: string[] = [];
    command.on('message', (data: Buffer) => got.push(data.toString('latin1')));
    await untilTrue(() => got.length === 2);
    expect(got).toEqual(['\u0004{"Width":80,"Height":24}', '\u0000date\r']);
    command.send(Buffer.concat([Buffer.of(1), Buffer.from('Monday\r\n')]));
    await untilTrue(() => terminal.printed === 'Monday\r\n');
    command.send(Buffer.concat([Buffer.of(3), Buffer.from(SUCCESS)]));
    expect(await terminal.closed).toEqual({ code: 1000, reason: 'The command has ended with exit code 0.' });
    expect(agent.requests.at(-1)?.query).toMatchObject({ command: 'sh', container: 'main', tty: 'true' });
  });

  it('ends when the pod does, and the command when the page is left', async () => {
    const first = (await open()) as Terminal;
    await untilTrue(() => commands.length === 1);
    commands[0]!.terminate();
    expect(await first.closed).toMatchObject({
      code: 1000,
      reason: expect.stringContaining('ended') as string,
    });
    const second = (await open()) as Terminal;
    await untilTrue(() => commands.length === 2);
    const left = once(commands[1]!, 'close');
    second.socket.close();
    await left;
  });

  it('takes no size that makes no sense, and closes with why there is no command', async () => {
    const terminal = (await open()) as Terminal;
    await untilTrue(() => commands.length === 1);
    const got: string[] = [];
    commands[0]!.on('message', (data: Buffer) => got.push(data.toString('latin1')));
    for (const [columns, rows] of [
      [0, 24],
      [80, 1e9],
      ['80', 24],
    ])
      terminal.socket.send(sized(columns, rows));
    terminal.socket.send(typed('x'));
    await untilTrue(() => got.length > 0);
    expect(got).toEqual(['\u0000x']);
  });

  it('waits for a page that draws slowly, and loses nothing', async () => {
    const terminal = (await open()) as Terminal;
    await untilTrue(() => commands.length === 1);
    const [command] = commands as [WebSocket];
    const piece = Buffer.concat([Buffer.of(1), Buffer.alloc(1 << 16, 'x')]);
    for (let sent = 0; sent < 128; sent++) command.send(piece);
    command.send(Buffer.concat([Buffer.of(3), Buffer.from(SUCCESS)]));
    let [drawnBytes, largest] = [0, 0];
    while (drawnBytes < 8 << 20) {
      await untilTrue(() => terminal.printed.length > drawnBytes);
      // All comes meanwhile that the server sends without waiting.
      for (let got = 0; got < terminal.printed.length;) {
        got = terminal.printed.length;
        for (let round = 0; round < 5; round++) {
          terminal.socket.ping(undefined, undefined, () => undefined);
          // It is closed behind the last of it.
          await Promise.race([once(terminal.socket, 'pong'), terminal.closed]);
        }
      }
      const bytes = terminal.printed.length - drawnBytes;
      largest = Math.max(largest, bytes);
      // What is no number counts for nothing.
      terminal.socket.send(drawn('-1e9'));
      terminal.socket.send(drawn(bytes));
      drawnBytes += bytes;
    }
    expect(largest).toBeLessThan(2 << 20);
    expect(await terminal.closed).toMatchObject({ code: 1000 });
    expect(terminal.printed).toHaveLength(8 << 20);
  });

  it('ends its command when it is left by a page that has drawn nothing', async () => {
    const terminal = (await open()) as Terminal;
    await untilTrue(() => commands.length === 1);
    const ended = once(commands[0]!, 'close');
    for (let sent = 0; sent < 40; sent++)
      commands[0]!.send(Buffer.concat([Buffer.of(1), Buffer.alloc(1 << 16, 'x')]));
    await untilTrue(() => terminal.printed.length > 1 << 20);
    terminal.socket.close();
    await ended;
  });

  it('is connected once the agent has answered, and closes when it does not', async () => {
    agent.onSocket(EXEC, 'silent');
    const terminal = (await open()) as Terminal;
    await untilTrue(() => agent.requests.length === 1);
    terminal.socket.ping();
    await once(terminal.socket, 'pong');
    expect(terminal.isConnected).toBe(false);
    await clock.advance(60_000);
    expect(await terminal.closed).toEqual({
      code: 4502,
      reason: expect.stringMatching(/did not answer within 60s/) as string,
    });
    expect(terminal.isConnected).toBe(false);
    agent.onSocket(EXEC, (socket) => void commands.push(socket));
    const other = (await open()) as Terminal;
    await untilTrue(() => other.isConnected);
    await clock.advance(60_000);
    commands[0]!.send(Buffer.concat([Buffer.of(1), Buffer.from('still there')]));
    await untilTrue(() => other.printed === 'still there');
  });

  it('survives a message that is too large of a page that it has refused', async () => {
    for (let count = 0; count < 8; count++) await open();
    const refused = (await open(undefined, (socket) => socket.send(Buffer.alloc(100_000)))) as Terminal;
    expect((await refused.closed).code).toBe(1013);
    await untilTrue(() => commands.length === 8);
  });

  it('closes when nobody reads what is typed, before there is a command and after', async () => {
    agent.onSocket(EXEC, 'silent');
    const early = (await open()) as Terminal;
    for (let sent = 0; sent < 17; sent++) early.socket.send(typed('x'.repeat(LARGE)));
    expect(await early.closed).toEqual(UNREAD);
    agent.onSocket(EXEC, (socket) => {
      socket.pause();
      commands.push(socket);
    });
    const late = (await open()) as Terminal;
    await untilTrue(() => commands.length === 1);
    // Much of it goes into the buffers of the system.
    for (let sent = 0; sent < 100; sent++) late.socket.send(typed('x'.repeat(LARGE)));
    expect(await late.closed).toEqual(UNREAD);
  });

  it('lets one type before there is a command', async () => {
    agent.onSocket(EXEC, 'silent');
    const terminal = (await open()) as Terminal;
    for (let sent = 0; sent < 15; sent++) terminal.socket.send(typed('x'.repeat(LARGE)));
    terminal.socket.ping();
    await once(terminal.socket, 'pong');
    expect(terminal.socket.readyState).toBe(WebSocket.OPEN);
  });

  it('is for one command of a pod, and for so many at a time', async () => {
    expect(await open('container=main')).toBe(404);
    const many: (Terminal | number)[] = [];
    for (let count = 0; count < 9; count++) many.push(await open());
    expect(await (many.at(-1) as Terminal).closed).toMatchObject({ code: 1013 });
  });
});

describe('a terminal of the page', () => {
  beforeEach(() => start(false));

  it('is not there without --write', async () => {
    expect(await open()).toBe(404);
    expect(commands).toEqual([]);
  });
});
